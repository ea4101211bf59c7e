import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { MetricsRegistry } from '../src/metrics-registry.ts'
import { type OpsOptions, openOpsServer, type Reason } from '../src/ops-server.ts'

const BUILD = { app: 'api', version: '1.2.3' }

async function open(t: Test, options: Partial<OpsOptions> = {}): Promise<string> {
  const server = await openOpsServer({
    host: '127.0.0.1',
    port: 0,
    reasons: () => [],
    metrics: new MetricsRegistry(BUILD),
    ...options,
  })
  t.teardown(() => server.close())
  return `http://127.0.0.1:${server.port}`
}

t.test('`::` is every address, of both kinds', async t => {
  const { port } = new URL(await open(t, { host: '::' }))
  for (const host of ['127.0.0.1', '[::1]']) {
    t.equal((await fetch(`http://${host}:${port}/live`)).status, 200, host)
  }
})

t.test('is live as long as it answers', async t => {
  const response = await fetch(
    `${await open(t, { reasons: () => [{ reason: 'redis', text: 'no Redis' }] })}/live?x=1`,
  )
  t.equal(response.status, 200)
  t.equal(response.headers.get('content-type'), 'application/json')
  t.strictSame(await response.json(), { live: true })
})

t.test('is ready exactly while there is no reason against it', async t => {
  const reasons: Reason[] = []
  const url = await open(t, { reasons: () => reasons })
  const ready = await fetch(`${url}/ready`)
  t.equal(ready.status, 200)
  t.strictSame(await ready.json(), { ready: true, reasons: [] })
  const texts = ['Redis is away since 13:05:00', 'no data from Upbit for 31 s']
  reasons.push(...texts.map(text => ({ reason: 'any', text })))
  const unready = await fetch(`${url}/ready`)
  t.equal(unready.status, 503)
  t.strictSame(await unready.json(), { ready: false, reasons: texts })
})

t.test('kimchi_ready is 1 while the app is ready, else 0 for each reason', async t => {
  const reasons: Reason[] = []
  const url = await open(t, { reasons: () => reasons })
  const read = async () => {
    const response = await fetch(`${url}/metrics`)
    t.match(response.headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
    return (await response.text()).match(/^kimchi_ready.*$/gm)
  }
  t.strictSame(await read(), ['kimchi_ready{reason=""} 1'])
  for (const reason of ['redis', 'upbit', 'redis']) reasons.push({ reason, text: 'any' })
  t.strictSame(await read(), ['kimchi_ready{reason="redis"} 0', 'kimchi_ready{reason="upbit"} 0'])
})

t.test('names its paths when another one is asked for', async t => {
  const response = await fetch(`${await open(t)}/api/v1/kimchi-premium`)
  t.equal(response.status, 404)
  t.strictSame(await response.json(), { paths: ['/live', '/ready', '/metrics'] })
})

t.test('a broken gauge or check is a 500 with its reason, and the server goes on', async t => {
  const metrics = new MetricsRegistry(BUILD)
  const read = () => {
    throw new Error('gauge is broken')
  }
  metrics.add('gauge', { name: 'broken', help: 'throws', read })
  const reasons = () => {
    throw new Error('check is broken')
  }
  const url = await open(t, { metrics, reasons })
  for (const [path, error] of [
    ['/metrics', 'gauge is broken'],
    ['/ready', 'check is broken'],
  ]) {
    const response = await fetch(`${url}${path}`)
    t.equal(response.status, 500)
    t.strictSame(await response.json(), { error })
  }
  t.equal((await fetch(`${url}/live`)).status, 200)
})

t.test('a taken port is an error that names its setting, port and address', async t => {
  const port = Number(new URL(await open(t)).port)
  await t.rejects(
    openOpsServer({ host: '127.0.0.1', port, reasons: () => [], metrics: new MetricsRegistry(BUILD) }),
    {
      code: 'KIMCHI_ERR_CONFIG',
      message: new RegExp(`^OPS_PORT must be .*, got: ${port} on 127.0.0.1 .*EADDRINUSE`),
      cause: { code: 'EADDRINUSE' },
    },
  )
})

t.test('closes although a client keeps its connection, as often as asked, and frees the port', async t => {
  const openAt = (port: number) =>
    openOpsServer({ host: '127.0.0.1', port, reasons: () => [], metrics: new MetricsRegistry(BUILD) })
  const server = await openAt(0)
  const idle = connect(server.port, '127.0.0.1')
  await once(idle, 'connect')
  idle.write('GET /live HTTP/1.1\r\nhost: x\r\n\r\n')
  await once(idle, 'data')
  const closed = once(idle, 'close')
  await Promise.all([server.close(), server.close(), closed])
  await server.close()
  const again = await openAt(server.port)
  t.equal(again.port, server.port)
  await again.close()
})
