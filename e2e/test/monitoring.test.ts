import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createFolder, eventually } from '@kimchi/testkit'
import { parser } from '@prometheus-io/lezer-promql'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { getJson, opsPortOf, startReplicas } from '../src/apps.ts'
import { lacksNginx, openEdge } from '../src/edge.ts'
import { openTestbed } from '../src/testbed.ts'
import { makeCertificate } from './support/certificate.ts'
import { openMonitoring, type SentAlert, SHIPPED, lacksMonitoring as skip } from './support/monitoring.ts'

async function openStack(t: Test) {
  const bed = await openTestbed(t, ['BTC', 'ETH', 'XRP'])
  const ingester = bed.start()
  const { replicas, ...upstream } = await startReplicas(t, bed.redis.url)
  const ops = { api: Number(replicas[0]?.opsPort), ingester: await opsPortOf(ingester) }
  const edge = await openEdge(t, upstream)
  const url = `http://127.0.0.1:${edge.port}`
  // Some metrics are there only when there are prices.
  await eventually(
    'the edge serves',
    async () => (await getJson(`${url}/api/v1/kimchi-premium`))?.status === 200,
  )
  return {
    bed,
    upstream,
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

/** The metrics that `/metrics` gives. */
async function namesAt(port: number): Promise<readonly string[]> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return [...text.matchAll(/^# TYPE (\S+) \S+$/gm)].map(([, name = '']) => name)
}

/** The commands of docs/operations.md. */
async function readCommands(): Promise<readonly string[]> {
  const text = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)]
  return blocks.flatMap(([, block = '']) => block.trim().split('\n'))
}

t.test('what watches the stack', { skip: lacksNginx }, async t => {
  const stack = await openStack(t)

  await t.test(
    'each expression asks for metrics that there are, and each metric of ours is read',
    async t => {
      const { 'edge:8080': _, ...ports } = stack.ports
      const others = ['up', 'probe_success', 'probe_duration_seconds', 'probe_ssl_earliest_cert_expiry']
      const given = (await Promise.all(Object.values(ports).map(namesAt))).flat()
      const known = new Set([...others, 'kimchi:lists_old:ratio', ...given])
      const expressions = await readExpressions()
      t.ok(expressions.length > 40, `${expressions.length} expressions`)
      const read = new Set<string>()
      for (const expression of expressions) {
        const names = metricsIn(expression).map(name => name.replace(/_(bucket|sum|count)$/, ''))
        t.ok(names.length > 0 || expression === 'vector(1)', expression)
        t.strictSame(
          names.filter(name => !known.has(name)),
          [],
          expression,
        )
        for (const name of names) read.add(name)
      }
      const ours = new Set(given.filter(name => name.startsWith('kimchi_')))
      t.comment(`${ours.size} metrics`)
      t.strictSame(
        [...ours].filter(name => !read.has(name)),
        [],
        'no metric is there for nobody',
      )
      t.throws(() => metricsIn('sum(rate(x[5m])'), /not PromQL/)
    },
  )

  await t.test('what Prometheus and Alertmanager make of it', { skip }, async t => {
    const dir = await createFolder(t)
    await writeFile(join(dir, 'index.html'), '<title>Kimchi premium</title>')
    const secured = await openEdge(t, { ...stack.upstream, page: dir, tls: await makeCertificate(dir) })
    const securedTarget = `https://127.0.0.1:${secured.port}/`
    const probe = [...stack.targets.probe, securedTarget]
    const readiness = `http://${stack.targets.ingester[0]}/ready`
    await eventually('the ingester is ready', async () => (await fetch(readiness)).ok)
    const alerts: SentAlert[] = []
    const named = (name: string, job?: string) =>
      alerts.filter(({ labels }) => labels.alertname === name && [undefined, labels.job].includes(job))
    const becomes = (name: string, status: SentAlert['status'], job?: string) =>
      eventually(`${name} is ${status}`, () => named(name, job).find(alert => alert.status === status))
    const onAlert = (alert: SentAlert) => void alerts.push(alert)
    const { ports } = await openMonitoring(t, { targets: { ...stack.targets, probe }, onAlert })

    await t.test('every curl of docs/operations.md gets an answer', t =>
      runCurls(t, { ...stack.ports, ...ports }),
    )

    await t.test('where the edge ends TLS it is asked all the same, and its certificate is told', async t => {
      t.match(await becomes('CertificateEnds', 'firing'), {
        labels: { instance: securedTarget, severity: 'ticket' },
        to: '/ticket',
      })
      t.strictSame(named('EdgeDown'), [])
    })

    // docs/faults.md, 74
    await t.test('a silent feed and a dead edge page somebody, and the watchdog is heard', async t => {
      t.match(await becomes('Watchdog', 'firing'), { to: '/watchdog' })
      // On a busy machine an ingester may have lost a minute.
      await eventually('all is well', () => named('NotReady', 'ingester').at(-1)?.status !== 'firing')
      alerts.length = 0
      const undo = stack.bed.exchanges.faults.set({ kind: 'silence', exchange: 'binance' })
      t.match(await becomes('NotReady', 'firing', 'ingester'), {
        labels: { job: 'ingester', severity: 'page' },
        annotations: { summary: /no ingester is ready: ./ },
        to: '/page',
      })
      // The page names what was known first, on a busy machine that minutes have no sample.
      await eventually('Prometheus names the feed', async () => {
        const response = await fetch(`http://127.0.0.1:${ports['prometheus:9090']}/api/v1/alerts`)
        return /no ingester is ready: [^"]*binance-data/.test(await response.text())
      })
      undo()
      t.match(await becomes('NotReady', 'resolved', 'ingester'), { labels: { job: 'ingester' }, to: '/page' })
      await eventually('the edge answers', async () => (await fetch(String(probe[0]))).ok)
      t.strictSame(named('EdgeDown'), [], 'silent while it answers')
      await stack.edge.close()
      t.match(await becomes('EdgeDown', 'firing'), { labels: { severity: 'page' }, to: '/page' })
    })
  })
})

/** Runs each curl of docs/operations.md. @param ports of what listens here, by the container's address */
async function runCurls(t: Test, ports: Readonly<Record<string, number>>) {
  const commands = await readCommands()
  t.strictSame(
    commands.filter(command => !/^(curl|redis-cli) /.test(command)),
    [],
    'packages/store/test/operations.test.ts runs the others',
  )
  const curls = new Set(commands.filter(command => command.startsWith('curl ')))
  t.ok(curls.size > 4)
  const isUp = (port: number | undefined) =>
    fetch(`http://127.0.0.1:${port}/-/healthy`).catch(() => undefined)
  for (const name of ['prometheus:9090', 'alertmanager:9093']) await eventually(name, () => isUp(ports[name]))
  const redirects = Object.entries(ports).map(([name, port]) => `--connect-to ${name}:127.0.0.1:${port}`)
  // As docs/operations.md sets them with compose.
  const env = {
    ...{ PATH: process.env.PATH, EDGE: 'http://edge:8080', EDGE_OPS: 'http://edge:8081' },
    ...{ API_OPS: 'http://api:9464', INGESTER_OPS: 'http://ingester-a:9465' },
    ...{ PROMETHEUS: 'http://prometheus:9090', ALERTMANAGER: 'http://alertmanager:9093' },
  }
  for (const command of curls) {
    const redirected = command.replace('curl ', `curl ${redirects.join(' ')} `)
    const { stdout } = await run('sh', ['-ec', redirected], { env })
    t.match(stdout, /^(\{.*\}\s*|# HELP .*|OK|Prometheus Server is Healthy\.\s*)$/s, command)
  }
}
