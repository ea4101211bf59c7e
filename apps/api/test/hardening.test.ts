import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { minuteOf } from '@kimchi/core'
import { startRedis } from '@kimchi/testkit'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { LIMITS } from '../src/http/connections.ts'
import { boardOf, MINUTE, openTestApp, rowOf } from './board.ts'
import { breachesOf } from './contract.ts'
import { askRaw, DAILY, exchange, GET, LIVE, openRaw, parseAnswers, type RawConnection } from './raw.ts'
import { eventually, MANY, openTestWriter, readsOf, settledReads, startTestApi } from './stack.ts'

const HOST = 'Host: api.example\r\n'
const CLOSE = 'Connection: close\r\n'
const PATIENT = {
  server: { ...LIMITS.server, requestTimeout: 800, headersTimeout: 400, connectionsCheckingInterval: 50 },
}

// docs/faults.md, 28
t.test('a client that drips its headers is told 408 and cut, others are served', async t => {
  const { listen, counted } = await openTestApp(t, boardOf(MINUTE), PATIENT)
  const port = await listen()
  const slow = await openRaw(port, `GET ${LIVE} HTTP/1.1\r\n${HOST}X-`)
  const drip = setInterval(() => slow.socket.write('a'), 20)
  t.teardown(() => clearInterval(drip))
  t.equal((await askRaw(port, LIVE)).status, 200)
  await slow.closed
  const [answer = never()] = parseAnswers(slow.bytes())
  t.equal(answer.status, 408)
  t.strictSame(await breachesOf('GET', '/', answer), [])
  t.equal(await counted('other', 408), 1)
})

t.test('no cache keeps a refusal that another client of the same URL would not get', async t => {
  const { listen } = await openTestApp(t)
  const port = await listen()
  for (const header of [`X: ${'a'.repeat(9_000)}`, 'X: \0', 'X']) {
    const { status, headers } = await askRaw(port, LIVE, { headers: `${header}\r\n` })
    t.equal(headers['cache-control'], 'no-store', header.slice(0, 20))
    t.ok(status >= 400)
  }
})

t.test('a large body is refused readably, and what follows it is answered', async t => {
  const { listen } = await openTestApp(t)
  const port = await listen()
  const size = 8_000_000
  const post = Buffer.from(`POST ${LIVE} HTTP/1.1\r\n${HOST}Content-Length: ${size}\r\n\r\n`)
  const get = Buffer.from(`GET ${LIVE} HTTP/1.1\r\n${HOST}${CLOSE}\r\n`)
  const answers = await exchange(
    port,
    Buffer.concat([post, Buffer.alloc(size, 'GET / HTTP/1.1\r\n\r\n'), get]),
  )
  t.strictSame(
    answers.map(({ status }) => status),
    [405, 200],
  )
  for (let round = 0; round < 5; round++) {
    const response = await fetch(`http://127.0.0.1:${port}${LIVE}`, {
      method: 'POST',
      body: Buffer.alloc(size),
    })
    t.equal(response.status, 405)
    t.match(await response.json(), { code: 'method_not_allowed' })
  }
})

// docs/faults.md, 28 and 67
t.test('who connects and says nothing is cut, who has said all is answered', async t => {
  const { listen } = await openTestApp(t, boardOf(MINUTE), PATIENT)
  const port = await listen()
  const silent = await openRaw(port)
  await silent.closed
  const leaving = await openRaw(port)
  leaving.socket.end()
  await leaving.closed
  const done = await openRaw(port)
  done.socket.end(GET)
  await done.closed
  t.strictSame(
    parseAnswers(done.bytes()).map(({ status }) => status),
    [200],
  )
})

t.test('answers without waiting for the end of an endless body', async t => {
  const { listen } = await openTestApp(t, boardOf(MINUTE), PATIENT)
  const [answer] = await exchange(
    await listen(),
    `POST ${LIVE} HTTP/1.1\r\n${HOST}Content-Length: 1000000000\r\n\r\nsome`,
  )
  t.equal(answer?.status, 405)
})

t.test('an Upgrade is answered with Connection: close', async t => {
  const { listen } = await openTestApp(t)
  const upgrade = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n'
  const [first, ...others] = await exchange(
    await listen(),
    `GET ${LIVE} HTTP/1.1\r\n${HOST}${upgrade}\r\n${GET.repeat(2)}`,
  )
  t.match(first, { status: 200, headers: { connection: 'close' } })
  t.strictSame(others, [])
})

// docs/faults.md, 28
t.test('a reader of one large response that is slow but steady is not cut', async t => {
  const symbols = Array.from({ length: 5_000 }, (_, n) => `C${n}`)
  // Far more than the kernel's buffers hold.
  const rows = symbols.map(symbol => rowOf(symbol, MINUTE, symbol.repeat(1_000)))
  const { listen } = await openTestApp(t, boardOf(MINUTE, symbols, { rows }), { unreadTimeout: 1_500 })
  const steady = await openRaw(await listen())
  steady.socket.pause()
  const reading = setInterval(() => {
    const goal = steady.socket.bytesRead + 500_000
    const pauseAtGoal = () => {
      if (steady.socket.bytesRead >= goal) steady.socket.off('data', pauseAtGoal).pause()
    }
    steady.socket.on('data', pauseAtGoal).resume()
  }, 120)
  t.teardown(() => clearInterval(reading))
  steady.socket.write(`GET ${LIVE} HTTP/1.1\r\n${HOST}${CLOSE}\r\n`)
  const start = performance.now()
  await steady.closed
  t.ok(performance.now() - start > 4_500, 'it took longer than a reader that takes nothing would have')
  const [answer] = parseAnswers(steady.bytes())
  t.equal(answer?.rawBody.length, Number(answer?.headers['content-length']))
})

// docs/faults.md, 28
t.test('a client that reads nothing is cut', async t => {
  const { listen, server } = await openTestApp(t, boardOf(MINUTE, MANY), { unreadTimeout: 300 })
  const port = await listen()
  const connected = once(server, 'connection')
  const greedy = await openRaw(port, GET)
  t.teardown(() => greedy.socket.destroy())
  greedy.socket.pause()
  const [accepted] = await connected
  greedy.socket.write(GET.repeat(3_000))
  await once(accepted, 'close')
  t.ok(greedy.socket.isPaused())
})

// docs/faults.md, 67
t.test('a connection with more than its share of unanswered requests is cut, others are not', async t => {
  const { listen } = await openTestApp(t, boardOf(MINUTE), { pipelined: 100 })
  const port = await listen()
  const clients: RawConnection[] = []
  t.teardown(() => {
    for (const { socket } of clients) socket.destroy()
  })
  while (clients.length < 10) {
    const client = await openRaw(port, GET)
    await once(client.socket, 'data')
    clients.push(client)
  }
  const [modest, greedy] = clients as [RawConnection, RawConnection]
  modest.socket.write(GET.repeat(11))
  greedy.socket.write(GET.repeat(12))
  await greedy.closed
  const answers = () => String(modest.bytes()).split('HTTP/1.1 200').length - 1
  await eventually('all are answered', () => answers() === 12)
  t.notOk(modest.socket.destroyed)
})

// docs/faults.md, 67
t.test('an unknown Expect is answered as if it were not there', async t => {
  const { listen } = await openTestApp(t)
  const answer = await askRaw(await listen(), LIVE, { headers: 'Expect: 200-ok\r\n' })
  t.equal(answer.status, 200)
  t.strictSame(await breachesOf('GET', LIVE, answer), [])
})

// docs/faults.md, 28
t.test('more connections than allowed are turned away', async t => {
  const { listen, server } = await openTestApp(t)
  t.equal(server.maxConnections, 5_000)
  server.maxConnections = 1
  const port = await listen()
  const first = await openRaw(port, GET)
  await once(first.socket, 'data')
  const second = await openRaw(port)
  await second.closed
  first.socket.destroy()
})

const broken: readonly [title: string, status: number, bytes: string][] = [
  [
    'Content-Length and Transfer-Encoding',
    400,
    `GET ${LIVE} HTTP/1.1\r\n${HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  ['two lengths', 400, `POST ${LIVE} HTTP/1.1\r\n${HOST}Content-Length: 5\r\nContent-Length: 6\r\n\r\n`],
  ['bare LF', 400, `GET ${LIVE} HTTP/1.1\nHost: x\n\n`],
  ['no Host', 400, `GET ${LIVE} HTTP/1.1\r\n\r\n`],
  ['two Hosts', 400, `GET ${LIVE} HTTP/1.1\r\n${HOST}Host: y\r\n\r\n`],
  ['a Host with a space', 400, `GET ${LIVE} HTTP/1.1\r\nHost: x y\r\n\r\n`],
  ['two Hosts of HTTP/1.0', 400, `GET ${LIVE} HTTP/1.0\r\n${HOST}Host: y\r\n\r\n`],
  ['no HTTP at all', 400, 'hello\r\n\r\n'],
  ['TLS', 400, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['a header that is too large', 431, `GET ${LIVE} HTTP/1.1\r\n${HOST}A: ${'b'.repeat(20_000)}\r\n\r\n`],
  ['raw bytes in the path', 400, `GET ${LIVE}/Ｂ/daily HTTP/1.1\r\n${HOST}\r\n`],
  ['a broken escape', 400, `GET ${LIVE}/%zz/daily HTTP/1.1\r\n${HOST}${CLOSE}\r\n`],
  ['..%2f', 400, `GET ${LIVE}/..%2f..%2fBTC/daily HTTP/1.1\r\n${HOST}${CLOSE}\r\n`],
  ['/../', 404, `GET ${LIVE}/x/../BTC/daily HTTP/1.1\r\n${HOST}${CLOSE}\r\n`],
  [
    'an escaped line break',
    400,
    `GET ${LIVE}/B%0d%0aSet-Cookie:%20a=b/daily HTTP/1.1\r\n${HOST}${CLOSE}\r\n`,
  ],
  ['an escaped line break in days', 400, `GET ${DAILY}?days=1%0d%0aX-Evil:1 HTTP/1.1\r\n${HOST}${CLOSE}\r\n`],
]

t.test('nothing of this reads Redis', async t => {
  const redis = await startRedis(t)
  const writer = await openTestWriter(t, redis.url)
  for (let day = 7; day > 0; day--) await writer.writeMinute(minuteOf(Date.now()) - day * 1_440)
  // A minute that is not overdue while the tests run, so that nothing polls for it.
  await writer.writeMinute(minuteOf(Date.now()) + 1)
  const { port } = await startTestApi(t, redis.url, { histories: ['BTC'] })
  const before = await settledReads(redis)
  // docs/faults.md, 29
  await t.test('whatever is malformed gets 4xx JSON with CORS headers and reaches no header', t =>
    malformed(t, port),
  )
  // docs/faults.md, 29
  await t.test('no path and no query gets anything but a documented answer', () => anyPath(port))
  // docs/faults.md, 30
  await t.test('each method and path gets its status, on the wire', t => methods(t, port))
  // docs/faults.md, 32 and 51
  await t.test('a flood of different queries costs no memory', t => queryFlood(t, port))
  t.equal(await readsOf(redis), before)
})

async function malformed(t: Test, port: number) {
  for (const [title, status, bytes] of broken) {
    const [answer = never(), ...more] = await exchange(port, Buffer.from(bytes))
    t.equal(answer.status, status, title)
    const path = /^\w+ (\S+) HTTP/.exec(bytes)?.[1] ?? '/'
    t.strictSame(await breachesOf('GET', path, answer), [], title)
    t.strictSame(unexpected(answer), [], title)
    t.strictSame(more, [], `${title}: one answer`)
  }
}

// docs/faults.md, 55
t.test('what came before something malformed on a connection is answered first', async t => {
  const { listen, reader } = await openTestApp(t)
  const port = await listen()
  const good = (path: string) => `GET ${path} HTTP/1.1\r\n${HOST}\r\n`
  const statuses = async (bytes: string) => (await exchange(port, bytes)).map(({ status }) => status)
  const bad = 'not http at all\r\n\r\n'
  t.strictSame(await statuses(good(LIVE) + bad), [200, 400])
  t.strictSame(await statuses(good(LIVE).repeat(50) + bad.repeat(50)), [...Array(50).fill(200), 400])
  t.strictSame(await statuses(`${good(LIVE)}GET / HTTP/1.1\r\nA: ${'b'.repeat(20_000)}\r\n\r\n`), [200, 431])
  const release = reader.hold()
  const waiting = statuses(good(DAILY) + bad)
  await eventually('the request', () => reader.daysRead.length > 0)
  release()
  t.strictSame(await waiting, [200, 400], 'also when it has to wait for Redis')
})

async function anyPath(port: number) {
  const nasty = '.. %2f %00 %0d%0a % __proto__ %ef%bc%a2 ; # ? // \\ BTC daily'.split(' ')
  const byte = fc.integer({ min: 0x21, max: 0xff }).map(code => String.fromCharCode(code))
  const piece = fc.oneof(fc.constantFrom(...nasty), fc.string({ unit: byte, maxLength: 6 }))
  const text = fc.array(piece, { maxLength: 6 }).map(pieces => pieces.join(''))
  await fc.assert(
    fc.asyncProperty(text, text, fc.boolean(), async (path, query, isDaily) => {
      const target = isDaily ? `${LIVE}/${path}/daily?${query}` : `/${path}?days=${query}`
      const answer = await askRaw(port, target)
      const breaches = await breachesOf('GET', target.split('#', 1)[0] ?? '', answer)
      if (breaches.length > 0 || answer.status >= 500) throw new Error(`${target}: ${breaches.join()}`)
    }),
    { numRuns: 300 },
  )
}

async function methods(t: Test, port: number) {
  const ask = async (method: string, target: string) => {
    const answer = await askRaw(port, target, { method })
    t.strictSame(await breachesOf(method, target, answer), [], `${method} ${target}`)
    return answer
  }
  for (const path of [LIVE, DAILY]) {
    t.equal((await ask('GET', path)).status, 200)
    const head = await ask('HEAD', path)
    t.equal(head.status, 200)
    t.ok(Number(head.headers['content-length']) > 100, 'HEAD says how long GET is')
    const { date: _, ...preflight } = (await ask('OPTIONS', path)).headers
    t.strictSame(preflight, PREFLIGHT, 'a 204, which has no length')
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'QUERY', 'PURGE']) {
      const { status, headers, body } = await ask(method, path)
      t.equal(status, 405, method)
      t.equal(headers.allow, 'GET, HEAD, OPTIONS')
      t.notMatch(body, /Host|api\.example/, 'TRACE echoes nothing')
    }
  }
  t.strictSame(await exchange(port, `CONNECT a:443 HTTP/1.1\r\n${HOST}\r\n`), [], 'closed by Node')
  t.equal((await ask('OPTIONS', '*')).status, 204)
  t.equal((await ask('POST', '/elsewhere')).status, 404)
  t.equal((await ask('GET', `http://api.example${LIVE}`)).status, 200, 'the whole URL, as proxies send it')
  t.equal((await ask('POST', `http://api.example${LIVE}`)).status, 405)
}

const PREFLIGHT = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, Retry-After, Age, Date',
  'access-control-allow-methods': 'GET, HEAD, OPTIONS',
  'access-control-allow-headers': 'If-None-Match, *',
  'access-control-max-age': '86400',
  allow: 'GET, HEAD, OPTIONS',
  connection: 'close',
}

async function queryFlood(t: Test, port: number) {
  const flood = async (from: number, count: number) => {
    const requests = Array.from({ length: count }, (_, n) => {
      const query =
        n % 2 === 0 ? `days=${((from + n) % 3_650) + 1}&x=${from + n}` : `q${from + n}=${'v'.repeat(200)}`
      return `GET ${DAILY}?${query} HTTP/1.1\r\n${HOST}Accept-Encoding: gzip;q=0.${(from + n) % 1_000}\r\n`
    })
    const answers = await exchange(port, `${requests.join('\r\n')}${CLOSE}\r\n`)
    t.equal(answers.filter(({ status }) => status === 200).length, count)
  }
  await flood(0, 1_000)
  const settled = await memory()
  for (let round = 1; round <= 5; round++) await flood(round * 10_000, 1_000)
  const grown = (await memory()) - settled
  t.ok(grown < 4_000_000, `grew by ${grown} bytes over 5,000 different requests`)
}

const EXPECTED_HEADERS = new Set([
  'access-control-allow-origin',
  'access-control-expose-headers',
  'cache-control',
  'connection',
  'content-length',
  'content-type',
  'date',
  'x-content-type-options',
])

function unexpected({ headers }: { headers: Readonly<Record<string, unknown>> }): readonly string[] {
  return Object.keys(headers).filter(name => !EXPECTED_HEADERS.has(name))
}

/** Bytes in use after a garbage collection. */
async function memory(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const sizes: number[] = []
  // Buffers outside the heap are freed some turns after the collection.
  for (let round = 0; round < 5; round++) {
    runInNewContext('gc')()
    await turn()
    const { heapUsed, external } = process.memoryUsage()
    sizes.push(heapUsed + external)
  }
  return Math.min(...sizes)
}

function never(): never {
  throw new Error('no answer at all')
}
