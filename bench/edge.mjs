/**
 * Measures the edge's cache beside nginx serving the same bytes as a file, and writes the section into
 * docs/benchmarks.md.
 *   node bench/edge.mjs [--rounds 7] [--seconds 3]
 * Needs wrk and nginx. Build first.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openEdge } from '../e2e/dist/edge.js'
import { startRedis } from '../packages/testkit/dist/index.js'
import { prepareNginx } from './contestants/nginx.mjs'
import { exchange, own } from './lib/exchange.mjs'
import { fill } from './lib/fill.mjs'
import { LOAD_GENERATOR, load } from './lib/load.mjs'
import {
  API,
  apiEnv,
  freePort,
  SERVER_CORE,
  startServer,
  stopAll,
  stopServer,
  untilAnswers,
} from './lib/programs.mjs'
import { machine, median, publish, table } from './lib/report.mjs'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, seconds: { type: 'string', default: '3' } },
})
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)
const LIVE = '/api/v1/kimchi-premium'

/** High enough for one client to be the load. */
const LIMITS = { perSecond: 1_000_000, connections: 10_000 }
/** The same for a file, as deploy/nginx has them. */
const FILE_LIMITS = `limit_req_zone $binary_remote_addr zone=requests:10m rate=${LIMITS.perSecond}r/s;
  limit_conn_zone $binary_remote_addr zone=connections:10m;
  limit_req zone=requests burst=250 nodelay; limit_conn connections ${LIMITS.connections};`

const SCENARIOS = [
  { name: 'live, 10 coins', coins: 10, path: LIVE, headers: {} },
  { name: 'live, 200 coins', coins: 200, path: LIVE, headers: {} },
  { name: 'live, 200 coins, gzip', coins: 200, path: LIVE, headers: { 'Accept-Encoding': 'gzip' } },
  { name: 'live, 200 coins, 304', coins: 200, path: LIVE, headers: {}, conditional: true },
  { name: 'history, 365 days', coins: 10, path: `${LIVE}/BTC/daily`, headers: {} },
]

const dir = mkdtempSync(join(tmpdir(), 'kimchi-bench-edge-'))
/** @type {(() => unknown)[]} */
const closing = []
try {
  /** @type {(string | number)[][]} */
  const rows = []
  for (const scenario of SCENARIOS) rows.push(await measure(scenario))
  publish('the edge', report(rows))
} finally {
  await stopAll()
  for (const close of closing) await close()
  rmSync(dir, { recursive: true, force: true })
}

/** @param {(typeof SCENARIOS)[number]} scenario */
async function measure({ name, coins, path, headers, conditional = false }) {
  const redis = await startRedis()
  const stack = await fill(redis.url, { coins, days: 400 })
  // So that the cache is filled again during the runs.
  const stopWriting = await stack.keepWriting()
  const apiPort = await freePort()
  const api = startServer(process.execPath, [API], apiEnv(redis.url, apiPort), false)
  await untilAnswers(`http://127.0.0.1:${apiPort}${path}`)
  await untilCoded(`http://127.0.0.1:${apiPort}${path}`, headers)

  const edgeDir = mkdtempSync(join(dir, 'edge-'))
  const edge = await openEdge({ dir: edgeDir, replicas: [apiPort], workers: 1, ...LIMITS })
  closing.push(() => edge.close())
  for (const pid of [edge.pid, ...childrenOf(edge.pid)])
    execFileSync('taskset', ['-cp', SERVER_CORE, pid], { stdio: 'ignore' })
  const plain = await exchange(`http://127.0.0.1:${apiPort}${path}`, {})
  const answer = { path, headers: own(plain.headers), body: plain.body }
  const files = [await startFile(answer, ''), await startFile(answer, FILE_LIMITS)]

  const servers = [...files, { port: edge.port, pid: edge.pid }]
  const contestants = await Promise.all(
    servers.map(async ({ port, pid }) => {
      const url = `http://127.0.0.1:${port}${path}`
      return { url, pids: [pid], length: (await exchange(url, headers)).body.length }
    }),
  )
  /** @param {(typeof contestants)[number]} contestant @param {number} seconds */
  const loadOnce = async ({ url, ...options }, seconds) => {
    // A tag is good for a minute at the edge.
    const { etag } = (await exchange(url, headers)).headers
    const tag = conditional ? { 'If-None-Match': String(etag) } : {}
    return load(url, { ...options, headers: { ...headers, ...tag }, seconds })
  }
  for (const contestant of contestants) await loadOnce(contestant, 1)
  /** @type {import('./lib/load.mjs').Load[][]} */
  const runs = contestants.map(() => [])
  for (let round = 0; round < rounds; round++) {
    const order = [...contestants.entries()]
    for (const [index, contestant] of round % 2 === 0 ? order : order.reverse()) {
      runs[index]?.push(await loadOnce(contestant, seconds))
      process.stdout.write('.')
    }
  }
  await stopWriting()
  await edge.close()
  for (const { child } of files) await stopServer(child)
  await stopServer(api)
  await stack.close()
  await redis.close()
  return row(name, contestants, runs)
}

/** @param {{ path: string, headers: Record<string, string>, body: Buffer }} answer @param {string} limits */
async function startFile(answer, limits) {
  const port = await freePort()
  const child = startServer(
    'nginx',
    prepareNginx({ ...answer, dir: join(dir, `file-${port}`), port, limits }),
  )
  await untilAnswers(`http://127.0.0.1:${port}${answer.path}`)
  return { port, child, pid: Number(child.pid) }
}

/**
 * @param {string} name @param {readonly { length: number }[]} contestants file, limited file, edge
 * @param {readonly (readonly import('./lib/load.mjs').Load[])[]} runs of each
 */
function row(name, contestants, runs) {
  const [ofFile = [], ofLimited = [], ofEdge = []] = runs
  /** @param {typeof ofFile} others */
  const ratio = others => median(ofEdge.map(({ rps }, round) => rps / Number(others[round]?.rps))).toFixed(2)
  const costs = ofEdge.map(({ cpuMicros }, round) => Number(ofFile[round]?.cpuMicros) / cpuMicros)
  return [
    name,
    ...[contestants[0], contestants[2]].map(one => Number(one?.length).toLocaleString('en')),
    ...runs.map(loads => Math.round(median(loads.map(({ rps }) => rps))).toLocaleString('en')),
    ratio(ofFile),
    ratio(ofLimited),
    ...[ofFile, ofEdge].map(loads => `${median(loads.map(({ cpuMicros }) => cpuMicros)).toFixed(1)} µs`),
    median(costs).toFixed(2),
    ...[ofFile, ofEdge].map(loads => `${median(loads.map(({ p99 }) => p99)).toFixed(2)} ms`),
    `${Math.round(Math.max(...runs.flat().map(({ generatorLoad }) => generatorLoad)) * 100)} %`,
  ]
}

/** @param {string} url @param {Record<string, string>} headers */
async function untilCoded(url, headers) {
  let answer = await exchange(url, headers)
  while (headers['Accept-Encoding'] && !answer.headers['content-encoding'])
    answer = await exchange(url, headers)
}

/** @param {number} pid */
function childrenOf(pid) {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
}

/** @param {readonly (readonly (string | number)[])[]} rows */
function report(rows) {
  return `## The edge

${machine()}.
One nginx worker on one core, ${LOAD_GENERATOR} on another; ${rounds} rounds of ${seconds} s, each contestant in
each round, medians; "÷" is the median of the ratios within a round. File: the same nginx serving the API's
bytes as a file (gzip made beforehand) from its open file cache, with no limits, no log and nothing in front.
"Limited file": with limits like the edge's. Edge: deploy/nginx as shipped but for the limits' figures, with a
real API behind it. Load average of the machine at the end, of which this is about 2: ${loadavg()[0]?.toFixed(1)}.
Much more means that others were at work; then requests/s say little, and the processor time of a request says
more ("÷ by CPU": that of the file by that of the edge). What a hit does beyond sending a file: it reads the
copy, parses its stored headers and its Cache-Control, hashes its key and counts for the limits; in a profile
no one of them stands out.

${table(['what', 'bytes, file', 'bytes, edge', 'file, requests/s', 'limited file', 'edge', 'edge ÷ file', '÷ limited file', 'file, CPU', 'edge, CPU', '÷ by CPU', 'file, p99', 'edge, p99', 'load generator'], rows)}`
}
