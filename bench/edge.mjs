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
import { LOAD_GENERATOR } from './lib/load.mjs'
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
import { machine, publish, table } from './lib/report.mjs'
import { measureRounds, WARM_UP_S } from './lib/rounds.mjs'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, seconds: { type: 'string', default: '3' } },
})
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)
const LIVE = '/api/v1/kimchi-premium'
/** Who is compared: the same bytes as a file, without limits and with the edge's, and the edge. */
const NAMES = /** @type {const} */ (['file', 'limited file', 'edge'])

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
  const edge = await openEdge({ dir: edgeDir, replicas: ['127.0.0.1'], apiPort, workers: 1, ...LIMITS })
  closing.push(() => edge.close())
  for (const pid of [edge.pid, ...childrenOf(edge.pid)])
    execFileSync('taskset', ['-cp', SERVER_CORE, pid], { stdio: 'ignore' })
  const plain = await exchange(`http://127.0.0.1:${apiPort}${path}`, {})
  const answer = { path, headers: own(plain.headers), body: plain.body }
  const files = [await startFile(answer, ''), await startFile(answer, FILE_LIMITS)]

  const servers = [...files, { port: edge.port, pid: edge.pid }]
  const contestants = servers.map(({ port, pid }, index) => ({
    name: String(NAMES[index]),
    url: `http://127.0.0.1:${port}${path}`,
    headers,
    conditional,
    pids: () => [pid],
  }))
  const [fileBytes, , edgeBytes] = await Promise.all(
    contestants.map(async ({ url }) => (await exchange(url, headers)).body.length.toLocaleString('en')),
  )
  const measured = await measureRounds(contestants, { rounds, seconds })
  await stopWriting()
  await edge.close()
  for (const { child } of files) await stopServer(child)
  await stopServer(api)
  await stack.close()
  await redis.close()
  return [name, fileBytes, edgeBytes, ...figuresOf(measured)].map(String)
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

/** @param {Awaited<ReturnType<typeof measureRounds>>} measured */
function figuresOf({ of, ratio, all }) {
  const [file, limited, edge] = NAMES
  return [
    ...NAMES.map(name => Math.round(of(name, 'rps')).toLocaleString('en')),
    ratio(edge, file, 'rps').toFixed(2),
    ratio(edge, limited, 'rps').toFixed(2),
    ...[file, edge].map(name => `${of(name, 'cpuMicros').toFixed(1)} µs`),
    ratio(file, edge, 'cpuMicros').toFixed(2),
    ...[file, edge].map(name => `${of(name, 'p99').toFixed(2)} ms`),
    `${Math.round(Math.max(...NAMES.flatMap(name => all(name, 'generatorLoad'))) * 100)} %`,
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

${machine()}. One nginx worker on one core, ${LOAD_GENERATOR} on another; ${rounds} rounds of ${seconds} s, each contestant in each round, in random order after ${WARM_UP_S} s to warm up, medians; "÷" is the median of the ratios within a round. File: the same nginx serving the API's bytes as a file (gzip made beforehand) from its open file cache, with no limits, no log and nothing in front. "Limited file": with limits like the edge's. Edge: deploy/nginx as shipped but for the limits' figures, with a real API behind it. Load average of the machine at the end, of which this is about 2: ${loadavg()[0]?.toFixed(1)}. Much more means that others were at work; then requests/s say little, and the processor time of a request says more ("÷ by CPU": that of the file by that of the edge). What a hit does beyond sending a file: it reads the copy, parses its stored headers and its Cache-Control, hashes its key and counts for the limits; in a profile no one of them stands out.

${table(['what', 'bytes, file', 'bytes, edge', 'file, requests/s', 'limited file', 'edge', 'edge ÷ file', '÷ limited file', 'file, CPU', 'edge, CPU', '÷ by CPU', 'file, p99', 'edge, p99', 'load generator'], rows)}`
}
