import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { messageOf } from '@kimchi/core'
import { createLogger, systemClock, waitForFarAddresses } from '@kimchi/runtime'
import packageJson from '../../package.json' with { type: 'json' }
import { readConfig } from '../config.ts'
import { examine } from './examine.ts'
import { createRecorder } from './exchange-recorder.ts'
import { lineOf, summaryOf } from './finding.ts'

const HELP = `npm run doctor -- [--json FILE] [--record FOLDER]
Asks Upbit and Binance, for up to 3 minutes, whether they answer from this machine and behave as the service assumes.
  --json FILE      writes the findings as JSON
  --record FOLDER  keeps every frame and answer, word for word
It reads the ingester's variables (docs/configuration.md); COINS is "all" unless it is set.
Exit code 1 when a check failed.
`

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { json: { type: 'string' }, record: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  })
  if (values.help === true) return void process.stdout.write(HELP)
  waitForFarAddresses()
  const config = readConfig({ COINS: 'all', ...process.env })
  const record = values.record === undefined ? () => {} : createRecorder(values.record, systemClock)
  if (process.stderr.isTTY) process.stderr.write('Asking Upbit and Binance, for up to 3 minutes …\n')
  const findings = await examine(
    { config, version: packageJson.version, record },
    { clock: systemClock, random: Math.random, log: createLogger('doctor', 'silent') },
  )
  for (const finding of findings) process.stdout.write(`${lineOf(finding)}\n`)
  process.stdout.write(`${summaryOf(findings)}\n`)
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(findings, null, 2)}\n`)
  process.exitCode = findings.some(({ outcome }) => outcome === 'FAIL') ? 1 : 0
}

main().catch(thrown => {
  process.stderr.write(`${messageOf(thrown)}\n`)
  process.exitCode = 1
})
