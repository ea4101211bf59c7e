import { execFileSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openEdge } from '@kimchi/e2e/edge'
import { compare, type Scenario, type Service } from './lib/compare.ts'
import type { Options } from './lib/load.ts'
import { startFile } from './lib/nginx.ts'
import { LIVE, pin } from './lib/servers.ts'
import type { Stage } from './lib/stage.ts'

/** High enough for one client to be the load. */
const LIMITS = { perSecond: 1_000_000, connections: 10_000, workers: 1 }

const GZIP = { 'Accept-Encoding': 'gzip' }
const SCENARIOS: readonly Scenario[] = [
  { name: '16 coins', coins: 16, path: LIVE },
  { name: '200 coins', coins: 200, path: LIVE },
  { name: '200, gzip', coins: 200, path: LIVE, headers: GZIP },
  { name: '200, not modified', coins: 200, path: LIVE, isConditional: true },
  { name: '365 days of a coin', coins: 16, path: `${LIVE}/BTC/daily` },
]

/** Measures the edge's cache beside nginx that serves the same bytes as a file. Needs wrk and nginx. */
export async function edge(options: Options): Promise<void> {
  execFileSync(fileURLToPath(new URL('../../scripts/image-nginx.sh', import.meta.url)))
  const notes =
    'The edge is deploy/nginx with one worker, as shipped but for the limits’ figures, a real API behind it; the file is the same nginx with the API’s bytes (gzip made beforehand), without limits, log or cache.'
  const what = { title: 'The edge', scenarios: SCENARIOS, start: startBoth, base: 'a file', notes }
  await compare(what, options)
}

async function startBoth(t: Stage, { path }: Scenario, { api, plain }: Service) {
  const dir = join(t.dir, 'edge')
  await mkdir(dir)
  const { port, pid, close } = await openEdge({ ...LIMITS, dir, replicas: ['127.0.0.1'], apiPort: api.port })
  t.teardown(close)
  pin(pid)
  return { 'a file': await startFile(t, path, plain), 'the edge': { port, pids: [pid] } }
}
