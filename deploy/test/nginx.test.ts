import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { utimes } from 'node:fs/promises'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { lacksNginx, openEdge } from '@kimchi/e2e/edge'
import { ask, eventually, listen } from '@kimchi/testkit'
import t from 'tap'

t.test(
  'a page is sent anew when the address in it has changed, a picture is not, and no made-up address is repeated',
  { skip: lacksNginx },
  async t => {
    const page = t.testdir({ 'index.html': 'https://premium.example', 'og.png': 'a picture' })
    // The edge is open when its API says that it has no such route.
    const api = createServer((_request, response) => response.writeHead(404).end())
    const apiPort = await listen(t, api)
    const names = 'mine.example http://mine.example;\nhis.example https://his.example;\n'
    const edge = await openEdge(t, { addresses: ['127.0.0.1'], apiPort, page, names })
    /** Asks again as a browser does that has kept the first answer. */
    const askAgain = async (path: string, changed: Record<string, string>) => {
      const headers = { host: 'mine.example' }
      const { etag = '', 'last-modified': date = '' } = (await ask(edge.port, path, { headers })).headers
      const known = { ...(etag && { 'if-none-match': etag }), ...(date && { 'if-modified-since': date }) }
      const { status, body } = await ask(edge.port, path, { headers: { ...headers, ...known, ...changed } })
      return `${status} ${body}`
    }
    t.equal(await askAgain('/', { host: 'his.example' }), '200 https://his.example')
    t.equal(await askAgain('/', { 'x-forwarded-proto': 'https' }), '200 http://mine.example')
    t.equal(await askAgain('/', { host: 'made-up.example' }), '200 ', 'what follows begins with the path')
    t.equal(await askAgain('/og.png', {}), '304 ')
  },
)

const LIVE = '/api/v1/kimchi-premium'
const run = promisify(execFile)
const SERVES = fileURLToPath(new URL('../nginx/serves.sh', import.meta.url))
const CODINGS = ['br', 'gzip', 'identity']

// docs/faults.md, 105
t.test(
  'after a worker died while it fetched, nobody gets an old copy for long, and the age says what callers get',
  { skip: lacksNginx },
  async t => {
    let isHanging = false
    const held = new Set<string>()
    /** A copy is good for a second; the first ones tell of an old minute, those after the worker's death of now. */
    const api = createServer(({ url, headers }, response) => {
      const coding = String(headers['accept-encoding'])
      if (url !== LIVE) return response.writeHead(404).end()
      if (isHanging) return held.add(coding)
      const isNew = held.size > 0
      const madeAt = isNew ? Date.now() : Date.now() - OLD_MS
      response.writeHead(200, {
        'cache-control': 'public, max-age=1, stale-while-revalidate=2, stale-if-error=600',
        'last-modified': new Date(madeAt).toUTCString(),
        'content-encoding': coding,
      })
      return response.end(isNew ? 'new' : 'old')
    })
    const apiPort = await listen(t, api)
    const edge = await openEdge(t, { addresses: ['127.0.0.1'], apiPort, workers: 1 })
    const bodyOf = async (coding: string) =>
      String((await ask(edge.port, LIVE, { headers: { 'accept-encoding': coding } })).body)
    const ageAtEdge = async () => {
      const text = String((await ask(edge.opsPort, '/metrics')).body)
      return Number(/^kimchi_edge_list_age_seconds (\S+)$/m.exec(text)?.[1])
    }
    for (const coding of CODINGS) t.equal(await bodyOf(coding), 'old', coding)
    t.ok((await ageAtEdge()) >= OLD_MS / 1_000, 'the age is that of the old list')

    isHanging = true
    await eventually('every copy is being fetched', () => {
      for (const coding of CODINGS) if (!held.has(coding)) void bodyOf(coding).catch(() => {})
      return held.size === CODINGS.length
    })
    isHanging = false
    const [worker] = workersOf(edge.pid)
    process.kill(Number(worker), 'SIGKILL')
    const diedAt = Date.now()
    await eventually('another worker', () => workersOf(edge.pid).some(pid => pid !== worker))
    for (const coding of CODINGS) {
      const isNew = async () => (await bodyOf(coding).catch(() => '')) === 'new'
      await eventually(`a new copy in ${coding}`, isNew, 10_000 - (Date.now() - diedAt), 100)
    }
    t.ok((await ageAtEdge()) < OLD_MS / 1_000, 'the age is that of the new list')
  },
)

/** How much older the list is that the first copies tell of. */
const OLD_MS = 300_000

/** Pids of nginx' worker processes; it has others for its cache. */
function workersOf(master: number): readonly string[] {
  const children = readFileSync(`/proc/${master}/task/${master}/children`, 'utf8').split(' ').filter(Boolean)
  return children.filter(pid => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('worker process'))
}

t.test(
  'an edge takes the place of another once a replica answers through it, and after three minutes without any',
  { skip: lacksNginx },
  async t => {
    const api = createServer(({ url }, response) => {
      response.writeHead(url === LIVE ? 503 : 404).end('{"result":"error","code":"not_ready"}')
    })
    const apiPort = await listen(t, api)
    const edge = await openEdge(t, { addresses: ['127.0.0.1'], apiPort })
    const codeNow = async () => JSON.parse(String((await ask(edge.port, LIVE)).body)).code
    const prefix = dirname(edge.log)
    const env = {
      ...process.env,
      EDGE_LIST: `http://127.0.0.1:${edge.port}${LIVE}`,
      EDGE_PREFIX: prefix,
    }
    const serves = () =>
      run('sh', [SERVES], { env }).then(
        () => true,
        () => false,
      )
    // The first puts the replica among those that failed.
    for (const time of ['first', 'second']) t.equal(await codeNow(), 'not_ready', time)
    t.ok(await serves(), 'a fresh install has no list')
    api.closeAllConnections()
    await once(api.close(), 'close')
    t.equal(await codeNow(), 'unavailable')
    t.notOk(await serves(), 'all replicas are away')
    const past = Date.now() / 1_000 - 181
    await utimes(join(prefix, 'conf'), past, past)
    t.ok(await serves(), 'for three minutes')
    await edge.close()
    t.notOk(await serves(), 'there is no edge')
  },
)
