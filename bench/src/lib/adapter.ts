import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '@kimchi/local-redis'
import { createFolder, type Teardown } from '@kimchi/testkit'
import type { Competitor } from './compare.ts'
import { programOf, startServer } from './servers.ts'

const FRAMEWORK = '@chainlink/external-adapter-framework@2.18.1'

/** Starts Chainlink's adapter framework in its fastest form, without the metrics that are on by default. */
export async function startAdapter(t: Teardown, bodyFile: string): Promise<Competitor> {
  const dir = await createFolder(t)
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--silent']
  execFileSync('npm', ['install', '--prefix', dir, ...flags, FRAMEWORK], { stdio: 'ignore' })
  const body = JSON.stringify({ data: { symbol: 'BTC' } })
  const script = join(dir, 'adapter.lua')
  const lines = [`method = 'POST'`, `body = '${body}'`, `headers['Content-Type'] = 'application/json'`]
  await writeFile(script, lines.map(line => `wrk.${line}\n`).join(''))
  const request = { method: 'POST', body, headers: { 'content-type': 'application/json' } }
  const port = await freePort()
  const env = { EA_HOST: '127.0.0.1', EA_PORT: `${port}`, LOG_LEVEL: 'warn', METRICS_ENABLED: 'false' }
  const command = programOf('adapter', { peersIn: dir, bodyFile })
  const server = await startServer(t, command, `http://127.0.0.1:${port}/`, { ...request, env })
  return { ...server, path: '/', script }
}
