import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually, type Program } from '@kimchi/testkit'
import { parser } from '@prometheus-io/lezer-promql'
import t from 'tap'
import { parse } from 'yaml'
import { startApp } from '../src/start-app.ts'
import { openFaultBed } from './support/fault-bed.ts'
import { missingPrograms, openMonitoring, type SentAlert, SHIPPED } from './support/monitoring.ts'

/** The port on which a started app tells how it is. */
async function opsPortOf(app: Program): Promise<number> {
  return JSON.parse(await app.line(line => line.includes('"opsPort"'))).opsPort
}

async function openStack() {
  const { bed, redis } = await openFaultBed(t)
  const env = { REDIS_URL: redis.url, HOST: '127.0.0.1', PORT: '0', OPS_PORT: '0' }
  const api = startApp('api', env)
  t.teardown(() => api.end('SIGKILL'))
  const ingester = bed.start('a')
  return { bed, targets: { api: [await opsPortOf(api)], ingester: [await opsPortOf(ingester)] } }
}

/** All expressions of the rules and of the dashboard. */
async function readExpressions(): Promise<readonly string[]> {
  const rules = parse(await readFile(join(SHIPPED, 'rules.yml'), 'utf8'))
  const dashboard = JSON.parse(await readFile(join(SHIPPED, '../grafana/dashboard.json'), 'utf8'))
  type Parts<K extends string> = readonly Readonly<Record<K, readonly { readonly expr: string }[]>>[]
  const expressions = [
    ...(rules.groups as Parts<'rules'>).flatMap(group => group.rules),
    ...(dashboard.panels as Parts<'targets'>).flatMap(panel => panel.targets),
  ]
  return expressions.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m'))
}

/** The metrics that an expression names. @throws Error when it is none */
function metricsIn(expression: string): readonly string[] {
  const names: string[] = []
  parser.parse(expression).iterate({
    enter: ({ type, from, to }) => {
      if (type.isError) throw new Error(`not PromQL at ${from}: ${expression}`)
      if (type.name === 'Identifier') names.push(expression.slice(from, to))
    },
  })
  return names
}

/** The names under which `/metrics` gives its values. */
async function namesAt(port: number): Promise<readonly string[]> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? ['_bucket', '_sum', '_count'].map(end => `${name}${end}`) : [name],
  )
}

const stack = await openStack()

t.test('each expression of the rules and the dashboard asks for metrics that the apps have', async t => {
  const ports = Object.values(stack.targets).flat()
  const known = new Set(['up', ...(await Promise.all(ports.map(namesAt))).flat()])
  const expressions = await readExpressions()
  t.ok(expressions.length > 50, `${expressions.length} expressions`)
  for (const expression of expressions) {
    const names = metricsIn(expression)
    t.ok(names.length > 0, expression)
    t.strictSame(
      names.filter(name => !known.has(name)),
      [],
      expression,
    )
  }
  t.throws(() => metricsIn('sum(rate(x[5m])'), /not PromQL/)
})

const missing = missingPrograms()
const skip = missing.length > 0 && `not installed: ${missing.join(', ')}`

t.test('a feed that falls silent wakes somebody, and the alert ends with it', { skip }, async t => {
  const { bed, targets } = stack
  const alerts: SentAlert[] = []
  const ofFeed = () => alerts.filter(({ labels }) => labels.alertname === 'FeedDown')
  const becomes = (status: SentAlert['status']) =>
    eventually(`the alert is ${status}`, () => ofFeed().find(alert => alert.status === status))
  await openMonitoring(t, { targets, onAlert: alert => alerts.push(alert) })
  await eventually('Prometheus watches', () => alerts.length > 0, 10_000)
  t.strictSame(ofFeed(), [])
  const stalledAt = performance.now()
  const undo = bed.exchanges.faults.set({ kind: 'silence', exchange: 'binance' })
  const fired = await becomes('firing')
  t.match(fired, { labels: { exchange: 'binance', severity: 'page' }, to: '/page' })
  t.comment(`woken ${((performance.now() - stalledAt) / 1_000).toFixed(1)} s after the feed fell silent`)
  const healedAt = performance.now()
  undo()
  t.match(await becomes('resolved'), { labels: { exchange: 'binance' }, to: '/page' })
  t.comment(`resolved ${((performance.now() - healedAt) / 1_000).toFixed(1)} s after it spoke again`)
})
