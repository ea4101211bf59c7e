import { systemClock, waitForFarAddresses } from '@kimchi/runtime'
import packageJson from '../../package.json' with { type: 'json' }
import { runImport } from './import-cli.ts'

waitForFarAddresses()
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort())

process.exitCode = await runImport({
  args: process.argv.slice(2),
  env: process.env,
  version: packageJson.version,
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  random: Math.random,
  signal: stopping.signal,
})
