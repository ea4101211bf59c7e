import { ask, type HttpAnswer, startRedis } from '@kimchi/testkit'
import { fill } from './fill.ts'
import { type Contestant, measureRounds, method, type Options, type Results } from './load.ts'
import { publish, table } from './report.ts'
import { LIVE, type Server, startApi } from './servers.ts'
import { onStage, type Stage } from './stage.ts'

/** One thing that is asked of everyone. */
export interface Scenario extends Pick<Contestant, 'path' | 'headers' | 'isConditional'> {
  readonly name: string
  readonly coins: number
}

/** The service in a scenario. */
export interface Service {
  readonly api: Server
  /** What the API answers without any header. */
  readonly plain: HttpAnswer
  /** What it answers in this scenario. */
  readonly answer: HttpAnswer
}

/** What is compared, and with whom. */
export interface Comparison<S extends Scenario> {
  readonly title: string
  readonly scenarios: readonly S[]
  /** Starts who takes part, by name; each is asked as the scenario says, unless it says otherwise. */
  readonly start: (t: Stage, scenario: S, service: Service) => Promise<Record<string, Competitor>>
  /** Its figures are 1. */
  readonly base: string
  readonly notes: string
}

/** A server, and what it is asked where that differs from the others. */
export type Competitor = Pick<Contestant, 'port' | 'pids'> & Partial<Contestant>

/** Measures each scenario with everyone, and writes two tables: processor time, and speed. */
export async function compare<S extends Scenario>(what: Comparison<S>, options: Options): Promise<void> {
  const results: Results[] = []
  for (const scenario of what.scenarios) {
    const measure = async (t: Stage) => {
      const { name: _name, coins: _coins, ...asked } = scenario
      const competitors = await what.start(t, scenario, await startService(t, scenario))
      const contestants = Object.entries(competitors).map(([name, one]) => [name, { ...asked, ...one }])
      return measureRounds(Object.fromEntries(contestants), options)
    }
    results.push(await onStage(measure))
  }
  const everyone = [...new Set(results.flatMap(({ names }) => names))]
  const tableOf = (cell: (name: string, of: Results) => string) => {
    const cells = (who: string) => results.map(of => (of.names.includes(who) ? cell(who, of) : ''))
    return table(
      ['', ...what.scenarios.map(({ name }) => name)],
      everyone.map(who => [who, ...cells(who)]),
    )
  }
  const busiest = Math.max(...results.flatMap(of => of.names.map(name => of.median(name, 'generator'))))
  const cpu = (who: string, of: Results) => {
    return `${of.median(who, 'cpu').toFixed(1)} (${of.ratio(who, what.base, 'cpu').toFixed(2)})`
  }
  const speed = (who: string, of: Results) => {
    return `${Math.round(of.median(who, 'rps')).toLocaleString('en')}, ${of.median(who, 'p99').toFixed(1)}`
  }
  publish(what.title, [
    `${method(options)} The load generator used at most ${Math.round(100 * busiest)} % of its core. ${what.notes}`,
    `Processor time of a request in µs, and in brackets ÷ ${what.base}:`,
    tableOf(cpu),
    'Requests per second, and the 99th percentile in ms:',
    tableOf(speed),
  ])
}

async function startService(
  t: Stage,
  { coins, path, headers = {}, isConditional }: Scenario,
): Promise<Service> {
  const redis = await startRedis(t)
  const filled = await fill(t, redis.url, { coins, days: path === LIVE ? 0 : 400 })
  await filled.keepWriting()
  const api = await startApi(t, redis.url)
  const plain = await ask(api.port, path)
  const tag = isConditional ? { 'If-None-Match': `${plain.headers.etag}` } : {}
  return { api, plain, answer: await ask(api.port, path, { headers: { ...headers, ...tag } }) }
}
