import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '@kimchi/local-redis'
import { createFolder, eventually } from '@kimchi/testkit'
import { parser } from '@prometheus-io/lezer-promql'
import t from 'tap'
import { parse } from 'yaml'
import { getJson, opsPortOf, startApp } from '../src/apps.ts'
import { lacksNginx, openEdge } from '../src/edge.ts'
import { openFaultBed } from './support/fault-bed.ts'
import { missingPrograms, openMonitoring, type SentAlert, SHIPPED } from './support/monitoring.ts'

async function openStack() {
  const { bed, redis } = await openFaultBed(t)
  const apiPort = await freePort()
  const env = { REDIS_URL: redis.url, HOST: '127.0.0.1', PORT: String(apiPort), OPS_PORT: '0' }
  const api = startApp('api', env)
  t.teardown(() => api.end('SIGKILL'))
  const ingester = bed.start('a')
  const ops = { api: await opsPortOf(api), ingester: await opsPortOf(ingester) }
  const edge = await openEdge({ dir: await createFolder(t), replicas: ['127.0.0.1'], apiPort })
  t.teardown(() => edge.close())
  const url = `http://127.0.0.1:${edge.port}`
  // Some metrics are there only when there are prices.
  await eventually(
    'the edge serves',
    async () => (await getJson(`${url}/api/v1/kimchi-premium`))?.status === 200,
  )
  return {
    bed,
    edge,
    ports: {
      'api:9464': ops.api,
      'ingester-a:9465': ops.ingester,
      'edge:8081': edge.opsPort,
      'edge:8080': edge.port,
    },
    targets: {
      api: [`127.0.0.1:${ops.api}`],
      ingester: [`127.0.0.1:${ops.ingester}`],
      edge: [`127.0.0.1:${edge.opsPort}`],
      probe: [`${url}/api/v1/kimchi-premium`],
    },
  }
}

const run = promisify(execFile)

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

if (lacksNginx) {
  t.pass('SKIPPED', { skip: lacksNginx })
  process.exit()
}
const stack = await openStack()

t.test('each expression of the rules and the dashboard asks for metrics that the apps have', async t => {
  const { 'edge:8080': _, ...ports } = stack.ports
  const probed = ['up', 'probe_success', 'probe_duration_seconds']
  const known = new Set([...probed, ...(await Promise.all(Object.values(ports).map(namesAt))).flat()])
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

t.test('every curl of docs/operations.md gets an answer', async t => {
  const text = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const commands = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
    block.trim().split('\n'),
  )
  t.strictSame(
    commands.filter(command => !/^(curl|redis-cli) /.test(command)),
    [],
    'packages/store/test/operations.test.ts runs the others',
  )
  const curls = new Set(commands.filter(command => command.startsWith('curl ')))
  t.ok(curls.size > 4)
  const places = Object.entries(stack.ports).map(([name, port]) => `--connect-to ${name}:127.0.0.1:${port}`)
  for (const command of curls) {
    const { stdout } = await run('sh', ['-ec', command.replace('curl ', `curl ${places.join(' ')} `)])
    t.match(stdout, /^(\{.*\}\s*|# HELP .*)$/s, command)
  }
})

const missing = missingPrograms()
const skip = missing.length > 0 && `not installed: ${missing.join(', ')}`

t.test('a silent feed and a dead edge page somebody', { skip }, async t => {
  const { bed, edge, targets } = stack
  const alerts: SentAlert[] = []
  const named = (name: string) => alerts.filter(({ labels }) => labels.alertname === name)
  const becomes = (name: string, status: SentAlert['status']) =>
    eventually(`${name} is ${status}`, () => named(name).find(alert => alert.status === status))
  await openMonitoring(t, { targets, onAlert: alert => alerts.push(alert) })
  await eventually('Prometheus watches', () => alerts.length > 0)
  t.strictSame(named('FeedDown'), [])
  const undo = bed.exchanges.faults.set({ kind: 'silence', exchange: 'binance' })
  t.match(await becomes('FeedDown', 'firing'), {
    labels: { exchange: 'binance', severity: 'page' },
    to: '/page',
  })
  undo()
  t.match(await becomes('FeedDown', 'resolved'), { labels: { exchange: 'binance' }, to: '/page' })
  await eventually('the edge answers', async () => (await fetch(String(targets.probe[0]))).ok)
  await edge.close()
  t.match(await becomes('EdgeDown', 'firing'), { labels: { severity: 'page' }, to: '/page' })
})
