import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { minuteOf } from '@kimchi/core'
import { fillRedis } from '@kimchi/e2e/fill'
import { ask, startRedis, type Teardown, withTeardown } from '@kimchi/testkit'
import { median, medianRatio, table, writeSection } from './report.ts'
import { cpuSeconds, LIVE, LOAD_CORE, type Server, startApi } from './servers.ts'

/** One thing that every competitor is asked. */
export interface Scenario {
  readonly name: string
  readonly coins: number
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Asks with the entity tag of the present document, which lasts a minute. */
  readonly isConditional?: boolean
}

const SCENARIOS: readonly Scenario[] = [
  { name: '16 coins', coins: 16, path: LIVE },
  { name: '200 coins', coins: 200, path: LIVE },
  { name: '200, gzip', coins: 200, path: LIVE, headers: { 'Accept-Encoding': 'gzip' } },
  { name: '200, not modified', coins: 200, path: LIVE, isConditional: true },
  { name: '365 days of a coin', coins: 16, path: `${LIVE}/BTC/daily` },
]

/** The running API, and its answers with and without the scenario's headers. */
export type Service = Awaited<ReturnType<typeof startService>>

export interface Comparison {
  readonly title: string
  /** Starts the competitors, by name. */
  readonly start: (t: Teardown, scenario: Scenario, service: Service) => Promise<Record<string, Server>>
  /** The competitor whose figures are 1. */
  readonly yardstick: string
  readonly notes: string
}

/**
 * What each round under load showed of one competitor: processor time of the server and its children per request,
 * in µs; the share of its core that the load generator used, near 1 when it was the bottleneck.
 */
type Runs = Readonly<Record<'cpu' | 'generator', number[]>>

/** Seconds under load before anything is measured: V8 compiles in stages, and has to reach the last one. */
const WARM_UP_S = 2
/** Seconds under load of one measurement. */
const ROUND_S = 1

/** Measures every competitor in each scenario, and writes a table of processor times. */
export async function compare(what: Comparison, rounds: number): Promise<void> {
  const { title, yardstick, notes } = what
  const columns: Readonly<Record<string, Runs>>[] = []
  for (const scenario of SCENARIOS)
    columns.push(await withTeardown(t => measureRounds(t, what, scenario, rounds)))
  const names = new Set(columns.flatMap(Object.keys))
  const cellOf = ({ cpu }: Runs, others: Runs) =>
    `${median(cpu).toFixed(1)} (${medianRatio(cpu, others.cpu).toFixed(2)})`
  const rows = [...names].map(name => [
    name,
    ...columns.map(({ [name]: runs, [yardstick]: others }) => (runs && others ? cellOf(runs, others) : '')),
  ])
  const generator = columns.flatMap(Object.values<Runs>).map(runs => median(runs.generator))
  writeSection(title, [
    `${rounds} rounds; the load generator used at most ${Math.round(100 * Math.max(...generator))} % of its core. ${notes}`.trimEnd(),
    `Processor time of a request in µs (÷ ${yardstick}):`,
    table(['', ...SCENARIOS.map(scenario => scenario.name)], rows),
  ])
}

/** Loads each competitor in every round for some seconds. */
async function measureRounds(
  t: Teardown,
  { start }: Comparison,
  scenario: Scenario,
  rounds: number,
): Promise<Readonly<Record<string, Runs>>> {
  const all = Object.entries(await start(t, scenario, await startService(t, scenario)))
  const runs: Record<string, Runs> = {}
  for (const [name, competitor] of all) {
    runs[name] = { cpu: [], generator: [] }
    await load(scenario, competitor, WARM_UP_S)
  }
  for (let round = 0; round < rounds; round++) {
    // Always after the same neighbour, a competitor would be measured with what that one leaves behind.
    const turns = new Map(all.map(each => [each, Math.random()]))
    for (const each of all.toSorted((a, b) => Number(turns.get(a)) - Number(turns.get(b)))) {
      await load(scenario, each[1], ROUND_S, runs[each[0]])
      process.stderr.write('.')
    }
  }
  return runs
}

/** Starts the API; `plain` is its answer without any header, `answer` that in this scenario. */
async function startService(t: Teardown, { coins, path, headers, isConditional }: Scenario) {
  const redis = await startRedis(t)
  const symbols = ['BTC', ...Array.from({ length: coins - 1 }, (_, n) => `C${n}`)]
  const writeMinute = await fillRedis(t, redis.url, symbols, path === LIVE ? 0 : 400)
  const writeNow = () => writeMinute(minuteOf(Date.now()))
  await writeNow()
  // Redis ignores a repeated minute.
  const timer = setInterval(() => void writeNow(), 5_000)
  t.teardown(() => clearInterval(timer))
  const api = await startApi(t, redis.url)
  const plain = await ask(api.port, path)
  const tag = isConditional ? { 'If-None-Match': `${plain.headers.etag}` } : {}
  return { api, plain, answer: await ask(api.port, path, { headers: { ...headers, ...tag } }) }
}

/** Asks as fast as a server answers, for some seconds. @throws Error when an answer was no success */
async function load(scenario: Scenario, { port, pid }: Server, seconds: number, runs?: Runs): Promise<void> {
  const { path } = scenario
  const headers: Record<string, string> = { ...scenario.headers }
  if (scenario.isConditional) headers['If-None-Match'] = `${(await ask(port, path)).headers.etag}`
  const flags = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const url = `http://127.0.0.1:${port}${path}`
  const wrk = ['wrk', '-t1', '-c64', `-d${seconds}s`, '--timeout', '10s', ...flags, url]
  const timed = ['-c', 'TIMEFORMAT="%U %S"; time "$@"', 'bash', 'taskset', '-c', LOAD_CORE, ...wrk]
  const before = cpuSeconds(pid)
  const { stdout, stderr } = await promisify(execFile)('bash', timed)
  const used = cpuSeconds(pid) - before
  if (/Non-2xx or 3xx|Socket errors/.test(stdout)) throw new Error(`${url} under load:\n${stdout}`)
  const [user = 0, system = 0] = stderr.trim().split(' ').map(Number)
  runs?.cpu.push((used / Number(/(\d+) requests in/.exec(stdout)?.[1])) * 1e6)
  runs?.generator.push((user + system) / seconds)
}
