import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { openEdge } from '@kimchi/e2e/edge'
import type { Teardown } from '@kimchi/testkit'
import { compare, type Scenario, type Service } from './lib/compare-servers.ts'
import { startFile } from './lib/nginx.ts'
import { pin } from './lib/servers.ts'

/** High enough for one client to be the load. */
const LIMITS = { perSecond: 1_000_000, workers: 1 }

/** Measures the edge's cache beside nginx that serves the same bytes as a file. Needs wrk and nginx. */
export async function edge(rounds: number): Promise<void> {
  execFileSync(fileURLToPath(new URL('../../scripts/image-nginx.sh', import.meta.url)))
  const notes =
    'The edge is deploy/nginx with one worker and a real API behind it, as shipped but for the limits’ figures; the file is the API’s bytes from the same nginx, without limits, log or cache.'
  const yardstick = 'a file'
  await compare({ title: 'The edge', start: startBoth, yardstick, notes }, rounds)
}

async function startBoth(t: Teardown, { path }: Scenario, { api, plain }: Service) {
  const { port, pid } = await openEdge(t, { ...LIMITS, addresses: ['127.0.0.1'], apiPort: api.port })
  pin(pid)
  return { 'a file': await startFile(t, path, plain), 'the edge': { port, pid } }
}
