import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '@kimchi/local-redis'
import type { Competitor } from './compare.ts'
import { startServer, untilAnswers } from './servers.ts'
import type { Stage } from './stage.ts'

const FRAMEWORK = '@chainlink/external-adapter-framework@2.18.1'
const PROGRAM = fileURLToPath(new URL('../programs/adapter.js', import.meta.url))

/** Chainlink's adapter framework, with its metrics, which are on unless turned off, and without. */
export async function startAdapters(t: Stage, bodyFile: string): Promise<Record<string, Competitor>> {
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--silent']
  execFileSync('npm', ['install', '--prefix', t.dir, ...flags, FRAMEWORK], { stdio: 'ignore' })
  const body = JSON.stringify({ data: { symbol: 'BTC' } })
  const script = join(t.dir, 'adapter.lua')
  const lines = [`method = 'POST'`, `body = '${body}'`, `headers['Content-Type'] = 'application/json'`]
  await writeFile(script, lines.map(line => `wrk.${line}\n`).join(''))
  const adapter = async (METRICS_ENABLED: string): Promise<Competitor> => {
    const [port, metricsPort] = [await freePort(), await freePort()]
    const ports = { EA_HOST: '127.0.0.1', EA_PORT: `${port}`, METRICS_PORT: `${metricsPort}` }
    const args = [process.execPath, PROGRAM, JSON.stringify({ peersIn: t.dir, bodyFile })]
    const { pid } = startServer(t, args, { ...ports, LOG_LEVEL: 'warn', METRICS_ENABLED })
    await untilAnswers(port, '/', { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    return { port, pids: [pid], path: '/', script }
  }
  return { 'adapter framework': await adapter('true'), 'the same, no metrics': await adapter('false') }
}
