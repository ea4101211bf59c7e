import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startAdapters } from './lib/adapters.ts'
import { type Competitor, compare, type Scenario, type Service } from './lib/compare.ts'
import type { Options } from './lib/load.ts'
import { ownHeaders, startFile } from './lib/nginx.ts'
import { NODE } from './lib/report.ts'
import { LIVE, startContestant } from './lib/servers.ts'
import type { Stage } from './lib/stage.ts'

const BARE = 'bare node:http'

/** What the API gives to node:http. @see apps/api/src/http/app.ts */
const API_OPTIONS = {
  maxHeaderSize: 8_192,
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 1_000,
  requireHostHeader: false,
  optimizeEmptyRequests: true,
}

interface ServeScenario extends Scenario {
  readonly rivals?: 'lean' | 'adapter'
}

const GZIP = { 'Accept-Encoding': 'gzip' }
const SCENARIOS: readonly ServeScenario[] = [
  { name: '16 coins', coins: 16, path: LIVE, rivals: 'lean' },
  { name: '200 coins', coins: 200, path: LIVE, rivals: 'lean' },
  { name: '200, gzip', coins: 200, path: LIVE, headers: GZIP },
  { name: '200, not modified', coins: 200, path: LIVE, isConditional: true },
  { name: '365 days of a coin', coins: 16, path: `${LIVE}/BTC/daily`, rivals: 'lean' },
  // Apart, because what the framework does every second is felt by everyone on its core.
  { name: '200 coins, adapters', coins: 200, path: LIVE, rivals: 'adapter' },
]

/** Measures the API beside bare node:http, other designs and nginx. Needs wrk and nginx. */
export async function serve(options: Options): Promise<void> {
  const title = `Serving, Node ${NODE}`
  const scenarios = SCENARIOS.filter(({ rivals }) => options.peers || rivals !== 'adapter')
  const notes =
    'Bare node:http sends the API’s bytes and headers, with Node’s default options and with the API’s. Lean Fastify has @fastify/cors and serialises one object in memory for every request. The adapter framework is Chainlink’s: one coin to a request, each a hit of its cache in memory.'
  await compare({ title, scenarios, start: startCompetitors, base: BARE, notes }, options)
}

async function startCompetitors(t: Stage, scenario: ServeScenario, service: Service) {
  const { path, rivals, isConditional } = scenario
  const { api, plain, answer } = service
  const bodyFile = join(t.dir, 'body')
  await writeFile(bodyFile, isConditional ? plain.body : answer.body)
  const sent = isConditional ? {} : { bodyFile }
  const bare = (options: object) => {
    const same = { status: answer.status, headers: ownHeaders(answer), ...sent, options }
    return startContestant(t, 'bare', path, same)
  }
  const all: Record<string, Competitor> = {
    [BARE]: await bare({}),
    [`${BARE}, our options`]: await bare(API_OPTIONS),
    API: api,
  }
  if (rivals === 'lean') {
    all['lean Fastify'] = await startContestant(t, 'lean', path, { bodyFile })
    all['lean Fastify, by schema'] = await startContestant(t, 'lean', path, {
      bodyFile,
      schema: schemaOf(path),
    })
  }
  if (rivals === 'adapter') Object.assign(all, await startAdapters(t, bodyFile))
  all['nginx, the bytes as a file'] = await startFile(t, path, plain)
  return all
}

/** The response schema of a route, from the contract. */
function schemaOf(path: string): unknown {
  const file = new URL('../../docs/openapi.json', import.meta.url)
  const { LiveList, History } = JSON.parse(readFileSync(file, 'utf8')).components.schemas
  return path === LIVE ? LiveList : History
}
