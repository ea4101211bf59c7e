import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { connect as connectH2 } from 'node:http2'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { minuteOf } from '@kimchi/core'
import { ask, createFolder } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { lacksNginx, openEdge } from '../src/edge.ts'
import { makeCertificate } from './support/certificate.ts'
import { LIVE, metricsWith, openReplicas } from './support/edge-stack.ts'

t.test('the edge refuses with the codes and in the words of the contract', async t => {
  const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')
  const { responses } = JSON.parse(await read('docs/openapi.json')).components
  const refusals = [...(await read('deploy/nginx/locations.conf')).matchAll(/return (\d{3}) '(\{.*\})';/g)]
  t.equal(refusals.length, 6)
  for (const [, status, text = ''] of refusals) {
    const body = JSON.parse(text)
    const { examples } = responses[`Error${status}`].content['application/json']
    t.strictSame(body, examples[body.code]?.value, `${body.code} is in the contract`)
  }
})

t.test('the edge', { skip: lacksNginx }, async t => {
  const upstream = await openReplicas(t, { minute: minuteOf(Date.now()), replicas: 1 })

  // docs/faults.md, 74
  await t.test('a client over its limit is refused in JSON, another is not', async t => {
    const edge = await openEdge(t, { ...upstream, perSecond: 1, proxies: '127.0.0.1' })
    const from = (address: string, path = LIVE) =>
      ask(edge.port, path, { headers: { 'x-forwarded-for': address } })
    const untilRefused = async (address: (n: number) => string) => {
      // Beyond the burst a request is allowed every second: a slow machine never knows whether the next one is.
      for (let n = 0; n < 400; n++) {
        const answer = await from(address(n))
        if (answer.status === 429) return answer
      }
      throw new Error('never refused')
    }
    const refused = await untilRefused(() => '203.0.113.7')
    checkError(t, refused, 'too_many_requests')
    t.equal(refused.headers['retry-after'], '1')
    await metricsWith(edge, /^kimchi_edge_requests_total\{route="live",status="429",cache="none"\} [1-9]/m)
    t.equal((await from('203.0.113.8')).status, 200, 'the neighbour behind the same CDN is served')
    t.equal((await from('203.0.113.7', '/')).status, 404, 'the page (here an empty folder) is not limited')
    t.equal((await from('203.0.113.7, 198.51.100.1')).status, 200, 'only the last address is believed')

    t.ok(await untilRefused(n => `2001:db8:1:2::${(n + 1).toString(16)}`), 'one IPv6 network is one client')
    t.equal((await from('2001:db8:1:3::1')).status, 200)
  })

  await t.test('X-Forwarded-For counts only from trusted proxies', async t => {
    const edge = await openEdge(t, { ...upstream, perSecond: 1 })
    const statuses = new Set<number>()
    for (let n = 0; n < 400 && !statuses.has(429); n++) {
      statuses.add(
        (await ask(edge.port, LIVE, { headers: { 'x-forwarded-for': `203.0.113.${n % 256}` } })).status,
      )
    }
    t.ok(statuses.has(429))
  })

  await t.test('the page is at /, the API below /api, and every refusal of the edge is JSON', async t => {
    const page = join(await createFolder(t), 'page')
    await mkdir(join(page, 'assets'), { recursive: true })
    await writeFile(join(page, 'assets/index-1a2b.js'), 'export {}')
    await writeFile(join(page, 'index.html'), 'curl https://premium.example/api, https://premium.example')
    await writeFile(join(page, 'openapi.json'), '"https://premium.example"')
    const host = 'mine.example:8080'
    const edge = await openEdge(t, { ...upstream, page, names: `${host} https://${host};\n` })

    const index = await ask(edge.port, '/', { headers: { 'accept-encoding': 'gzip' } })
    t.match(index, {
      status: 200,
      headers: {
        'content-type': 'text/html',
        'x-content-type-options': 'nosniff',
        'content-security-policy': "frame-ancestors 'none'",
        'referrer-policy': 'no-referrer',
      },
    })
    const named = async (path: string, headers: Record<string, string>) =>
      String((await ask(edge.port, path, { headers })).body)
    t.equal(await named('/', { host }), `curl https://${host}/api, https://${host}`)
    t.equal(await named('/openapi.json', { host, 'x-forwarded-proto': 'http' }), `"https://${host}"`)
    const own = '127.0.0.1:3000'
    t.equal(await named('/', { host: own }), `curl http://${own}/api, http://${own}`)
    t.equal(await named('/', { host: 'made-up.example' }), 'curl /api, ', 'no made-up address is repeated')
    const { headers } = await ask(edge.port, '/assets/index-1a2b.js')
    t.match(headers, { 'content-type': /javascript/, 'cache-control': /immutable/ })
    for (const [path, status, code] of [
      ['/api', 404, 'no_such_route'],
      ['/api/v1/other', 404, 'no_such_route'],
      [`${LIVE}/B-T/daily`, 400, 'invalid_symbol'],
      [`${LIVE}/NONE/daily`, 404, 'unknown_symbol'],
    ] as const) {
      const answer = await ask(edge.port, path)
      t.equal(answer.status, status, path)
      checkError(t, answer, code)
    }
    for (const [method, path, status, code] of [
      ['POST', LIVE, 405, 'method_not_allowed'],
      ['TRACE', LIVE, 405, 'method_not_allowed'],
      ['POST', '/', 405, 'method_not_allowed'],
      ['GET', '/missing.html', 404, 'no_such_route'],
      ['GET', '/assets/', 404, 'no_such_route'],
      ['GET', `/${'a'.repeat(9_000)}`, 431, 'headers_too_large'],
    ] as const) {
      const answer = await ask(edge.port, path, { method })
      t.equal(answer.status, status, `${method} ${path.slice(0, 30)}`)
      checkError(t, answer, code)
    }
    for (const head of [
      'GET / HTTP/1.1\r\n\r\n',
      'GET /api/%zz HTTP/1.1\r\nHost: a\r\n\r\n',
      'what is this\r\n\r\n',
      `GET ${LIVE} HTTP/3.0\r\nHost: a\r\n\r\n`,
      `GET ${LIVE} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: what\r\nConnection: close\r\n\r\n`,
      'GET / HTTP/1.1\r\nHost: a\r\nIf-Match: "other"\r\nConnection: close\r\n\r\n',
    ]) {
      t.match(
        await raw(edge.port, head),
        /^HTTP\/1.1 400 .*access-control-allow-origin: \*.*"bad_request"/is,
        head,
      )
    }
    const long = `${LIVE}/BTC/daily?days=29`
    for (const path of [LIVE, long]) {
      for (const name of ['if-match', 'if-unmodified-since', 'range', 'if-range']) {
        const headers = { [name]: '"other"', range: 'bytes=99999-', 'accept-encoding': 'gzip' }
        const answer = await ask(edge.port, path, { headers })
        t.match(answer, { status: 200, headers: { vary: 'Accept-Encoding' } }, `${name} means nothing here`)
      }
    }
    t.equal((await ask(edge.port, '/', { headers: { range: 'bytes=99999-' } })).status, 200)
    for (const path of [
      `${LIVE}%0d%0aX-Injected:%201/BTC/daily`,
      '/api/..%2f..%2fetc/passwd',
      '/../../etc/passwd',
    ]) {
      const answer = await raw(edge.port, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
      t.match(answer, /^HTTP\/1.1 4\d\d /, path)
      t.notMatch(answer, /^x-injected/im)
    }
  })

  // docs/faults.md, 67
  await t.test('a connection that pipelines is closed at the first refusal', async t => {
    const edge = await openEdge(t, { ...upstream, perSecond: 1 })
    const text = await raw(edge.port, `GET ${LIVE} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(400))
    t.equal(text.match(/HTTP\/1.1 429 /g)?.length, 1)
  })

  await t.test('the TLS variant speaks HTTP/2 and redirects plain HTTP', async t => {
    const tls = await makeCertificate(await createFolder(t))
    const edge = await openEdge(t, { ...upstream, tls })

    const session = connectH2(`https://127.0.0.1:${edge.port}`, { rejectUnauthorized: false })
    t.teardown(() => session.close())
    const answers = await Promise.all(
      [LIVE, `${LIVE}/BTC/daily`, LIVE].map(
        path =>
          new Promise<Record<string, unknown>>((resolve, reject) => {
            session.request({ ':path': path }).on('response', resolve).on('error', reject).resume()
          }),
      ),
    )
    for (const headers of answers) {
      t.match(headers, {
        ':status': 200,
        'strict-transport-security': /max-age/,
        'access-control-allow-origin': '*',
      })
    }
    t.equal(session.alpnProtocol, 'h2')

    t.equal(await overTls(edge.port, LIVE), 'TLSv1.3 HTTP/1.1 200 OK', 'HTTP/1.1 works too')
    for (const port of [edge.plainPort, edge.port]) {
      const { status, headers } = await ask(port, `${LIVE}?days=1`, { headers: { host: 'example.org' } })
      t.match({ status, to: headers.location }, { status: 308, to: `https://example.org${LIVE}?days=1` })
    }
    await t.rejects(overTls(edge.port, LIVE, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }))
  })
})

function checkError(t: Test, { headers, body }: Awaited<ReturnType<typeof ask>>, code: string) {
  t.match(headers, { 'access-control-allow-origin': '*', 'content-type': /^application\/json/ })
  t.match(JSON.parse(body.toString()), { result: 'error', code, message: String })
}

/** Everything that comes back for these bytes until the connection closes. */
function raw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    socket.setEncoding('latin1').on('data', part => {
      text += part
    })
    socket.on('close', () => resolve(text)).on('error', reject)
  })
}

/** The first line of what comes back over TLS, after its version. */
function overTls(port: number, path: string, options: ConnectionOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options }, () =>
      socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`),
    )
    socket.once('data', part => resolve(`${socket.getProtocol()} ${String(part).split('\r\n')[0]}`))
    socket.on('error', reject)
  })
}
