import { type Clock, minuteStart } from '@kimchi/core'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { DocumentsState } from './documents.ts'
import { answersCounted, type Traffic } from './traffic.ts'

/** Where the numbers come from; read when somebody looks, so that requests pay nothing for them. */
export interface MetricsOptions {
  readonly state: () => DocumentsState
  readonly traffic: Traffic
  readonly redisUp: () => boolean
  readonly connections: () => Promise<number>
  readonly clock: Clock
}

/** The API's Prometheus metrics. */
export function createRegistry({ state, traffic, redisUp, connections, clock }: MetricsOptions): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const gauge = (name: string, help: string, read: () => number | undefined | Promise<number>) =>
    new Gauge({
      name: `kimchi_api_${name}`,
      help,
      registers: [registry],
      async collect() {
        const value = await read()
        if (value !== undefined) this.set(value)
      },
    })
  const counter = (name: string, help: string, read: () => number) =>
    new Counter({
      name: `kimchi_api_${name}`,
      help,
      registers: [registry],
      collect() {
        this.reset()
        this.inc(read())
      },
    })

  new Counter({
    name: 'kimchi_api_answers_total',
    help: 'Answers sent, by route and status.',
    labelNames: ['route', 'status'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { route, status, count } of answersCounted(traffic)) this.inc({ route, status }, count)
    },
  })
  new Counter({
    name: 'kimchi_api_connections_cut_total',
    help: 'Connections turned away or cut, by reason.',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [reason, count] of Object.entries(traffic.cut)) this.inc({ reason }, count)
    },
  })
  gauge('connections', 'Open public connections.', connections)
  gauge('document_minute', 'Newest snapshot served, minutes since the epoch.', () => state().newestMinute)
  gauge('document_age_seconds', 'Age of the newest snapshot served.', () => {
    const { newestMinute } = state()
    return newestMinute === undefined ? undefined : (clock.now() - minuteStart(newestMinute)) / 1_000
  })
  gauge('coins', 'Coins known, tracked or with a readable history.', () => state().coins)
  gauge('histories', 'Coins whose history is held in memory.', () => state().histories)
  gauge('corrupt_entries', 'Entries of the last read that were skipped as corrupt.', () => state().corrupt)
  gauge('redis_up', '1 while Redis answers.', () => (redisUp() ? 1 : 0))
  counter('refreshes_total', 'Reads of Redis that brought the documents up to date.', () => state().refreshed)
  counter('refreshes_failed_total', 'Reads of Redis that failed.', () => state().refreshesFailed)
  return registry
}
