import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { MetricsRegistry } from '../src/metrics-registry.ts'
import { type OpsOptions, openOpsServer, type Reason } from '../src/ops-server.ts'

const newMetrics = () => new MetricsRegistry({ app: 'api', version: '1.2.3' })

/** An app that is ready. */
const ready = (port = 0) => ({ host: '127.0.0.1', port, reasons: () => [], metrics: newMetrics() })

/** A server, and what it answers: the status and the JSON, or else the text. */
async function open(t: Test, options: Partial<OpsOptions> = {}) {
  const server = await openOpsServer({ ...ready(), ...options })
  t.teardown(() => server.close())
  const ask = async (path: string, host = '127.0.0.1') => {
    const response = await fetch(`http://${host}:${server.port}${path}`)
    const type = response.headers.get('content-type') ?? ''
    const body = await (type === 'application/json' ? response.json() : response.text())
    return { status: response.status, type, body }
  }
  return { port: server.port, ask }
}

t.test('`::` is every address, of both kinds', async t => {
  const { ask } = await open(t, { host: '::' })
  for (const host of ['127.0.0.1', '[::1]']) t.equal((await ask('/live', host)).status, 200, host)
})

t.test('is live as long as it answers, and names its paths when another one is asked for', async t => {
  const { ask } = await open(t, { reasons: () => [{ reason: 'redis', text: 'no Redis' }] })
  t.strictSame(await ask('/live?x=1'), { status: 200, type: 'application/json', body: { live: true } })
  const { status, body } = await ask('/api/v1/kimchi-premium')
  t.strictSame({ status, body }, { status: 404, body: { paths: ['/live', '/ready', '/metrics'] } })
})

t.test('is ready exactly while there is no reason against it', async t => {
  const reasons: Reason[] = []
  const { ask } = await open(t, { reasons: () => reasons })
  t.match(await ask('/ready'), { status: 200, body: { ready: true, reasons: [] } })
  const gauge = async () => {
    const { type, body } = await ask('/metrics')
    t.match(type, /^text\/plain; version=0\.0\.4/)
    return String(body).match(/^kimchi_ready.*$/gm)
  }
  t.strictSame(await gauge(), ['kimchi_ready{reason=""} 1'])
  const texts = ['Redis is away since 13:05:00', 'no data from Upbit for 31 s', 'Redis is away']
  reasons.push(...texts.map((text, at) => ({ reason: at === 1 ? 'upbit' : 'redis', text })))
  t.match(await ask('/ready'), { status: 503, body: { ready: false, reasons: texts } })
  t.strictSame(await gauge(), ['kimchi_ready{reason="redis"} 0', 'kimchi_ready{reason="upbit"} 0'])
})

t.test('a broken gauge or check is a 500 with its reason, and the server goes on', async t => {
  const metrics = newMetrics()
  const broken = (what: string) => () => {
    throw new Error(`${what} is broken`)
  }
  metrics.add('gauge', { name: 'broken', help: 'throws', read: broken('gauge') })
  const { ask } = await open(t, { metrics, reasons: broken('check') })
  t.match(await ask('/metrics'), { status: 500, body: { error: 'gauge is broken' } })
  t.match(await ask('/ready'), { status: 500, body: { error: 'check is broken' } })
  t.equal((await ask('/live')).status, 200)
})

t.test('a taken port is an error that names its setting, port and address', async t => {
  const { port } = await open(t)
  await t.rejects(openOpsServer(ready(port)), {
    code: 'KIMCHI_ERR_CONFIG',
    message: new RegExp(`^OPS_PORT must be .*, got: ${port} on 127.0.0.1 .*EADDRINUSE`),
    cause: { code: 'EADDRINUSE' },
  })
})

t.test('closes although a client keeps its connection, as often as asked, and frees the port', async t => {
  const server = await openOpsServer(ready())
  const idle = connect(server.port, '127.0.0.1')
  await once(idle, 'connect')
  idle.write('GET /live HTTP/1.1\r\nhost: x\r\n\r\n')
  await once(idle, 'data')
  const closed = once(idle, 'close')
  await Promise.all([server.close(), server.close(), closed])
  await server.close()
  const again = await openOpsServer(ready(server.port))
  t.equal(again.port, server.port)
  await again.close()
})
