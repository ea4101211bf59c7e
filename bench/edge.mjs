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
  await stack.writeMinute(Math.floor(Date.now() / 60_000))
  // The API as it goes on being: a new minute each minute, so that the cache is filled again during the runs.
  const minutes = setInterval(() => void stack.writeMinute(Math.floor(Date.now() / 60_000)), 1_000)
  const apiPort = await freePort()
  const api = startServer(process.execPath, [API], apiEnv(redis.url, apiPort), false)
  await untilAnswers(`http://127.0.0.1:${apiPort}${path}`)
  await untilCoded(`http://127.0.0.1:${apiPort}${path}`, headers)

  const edgeDir = mkdtempSync(join(dir, 'edge-'))
  const limits = { perSecond: 1_000_000, connections: 10_000 }
  const edge = await openEdge({ dir: edgeDir, replicas: [apiPort], workers: 1, ...limits })
  closing.push(() => edge.close())
  for (const pid of [edge.pid, ...childrenOf(edge.pid)])
    execFileSync('taskset', ['-cp', SERVER_CORE, pid], { stdio: 'ignore' })
  const filePort = await freePort()
  const plain = await exchange(`http://127.0.0.1:${apiPort}${path}`, {})
  const file = {
    dir: join(dir, `file-${filePort}`),
    port: filePort,
    path,
    headers: own(plain.headers),
    body: plain.body,
  }
  const files = startServer('nginx', prepareNginx(file))
  await untilAnswers(`http://127.0.0.1:${filePort}${path}`)

  const contestants = []
  for (const [port, pid] of [
    [filePort, files.pid],
    [edge.port, edge.pid],
  ]) {
    const url = `http://127.0.0.1:${port}${path}`
    const seen = await exchange(url, headers)
    const tag = conditional ? { 'If-None-Match': String(seen.headers.etag) } : {}
    contestants.push({ url, headers: { ...headers, ...tag }, pids: [Number(pid)], length: seen.body.length })
  }
  /** @type {import('./lib/load.mjs').Load[][]} */
  const runs = [[], []]
  for (const { url, ...options } of contestants) await load(url, { ...options, seconds: 1 })
  for (let round = 0; round < rounds; round++) {
    for (const index of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const { url, ...options } = /** @type {(typeof contestants)[number]} */ (contestants[index])
      runs[index]?.push(await load(url, { ...options, seconds }))
      process.stdout.write('.')
    }
  }
  clearInterval(minutes)
  await edge.close()
  await stopServer(files)
  await stopServer(api)
  await stack.close()
  await redis.close()
  const [ofFile = [], ofEdge = []] = runs
  const ratios = ofEdge.map(({ rps }, round) => rps / Number(ofFile[round]?.rps))
  const costs = ofEdge.map(({ cpuMicros }, round) => Number(ofFile[round]?.cpuMicros) / cpuMicros)
  return [
    name,
    ...contestants.map(({ length }) => length.toLocaleString('en')),
    ...[ofFile, ofEdge].map(loads => Math.round(median(loads.map(({ rps }) => rps))).toLocaleString('en')),
    median(ratios).toFixed(2),
    ...[ofFile, ofEdge].map(loads => `${median(loads.map(({ cpuMicros }) => cpuMicros)).toFixed(1)} µs`),
    median(costs).toFixed(2),
    ...[ofFile, ofEdge].map(loads => `${median(loads.map(({ p99 }) => p99)).toFixed(2)} ms`),
    `${Math.round(Math.max(...[...ofFile, ...ofEdge].map(({ generatorLoad }) => generatorLoad)) * 100)} %`,
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
each round, medians; "÷" is the median of the ratios within a round. File: the same nginx
serving the API's bytes as a file (gzip made beforehand) from its open file cache, with no limits, no log and
nothing in front. Edge: deploy/nginx as shipped but for the limits' figures, with a real API behind it. Load
average of the machine at the end, of which this is about 2: ${loadavg()[0]?.toFixed(1)}. Much more means that others were at
work; then requests/s say little, and the processor time of a request says more ("÷ by CPU": that of the file
by that of the edge). What a hit does beyond sending a file: it reads the copy, parses its stored headers and
its Cache-Control, hashes its key and counts for the limits; in a profile no one of them stands out.

${table(['what', 'bytes, file', 'bytes, edge', 'file, requests/s', 'edge, requests/s', '÷', 'file, CPU', 'edge, CPU', '÷ by CPU', 'file, p99', 'edge, p99', 'load generator'], rows)}`
}
