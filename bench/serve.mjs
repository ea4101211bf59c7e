#!/usr/bin/env node
/**
 * Measures the API side by side with bare node:http, the obvious design, nginx and Webdis, and writes
 * docs/benchmarks.md, a section per version of Node.
 *   node bench/serve.mjs [--rounds 5] [--seconds 4]
 * Needs wrk; nginx and webdis take part where they are installed. Build first.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startRedis } from '../packages/testkit/dist/index.js'
import { prepareNginx } from './contestants/nginx.mjs'
import { prepareWebdis, WEBDIS_PATH } from './contestants/webdis.mjs'
import { exchange, own } from './lib/exchange.mjs'
import { fill } from './lib/fill.mjs'
import { LOAD_GENERATOR, load } from './lib/load.mjs'
import {
  cpuSeconds,
  freePort,
  isInstalled,
  startServer,
  stopAll,
  stopServer,
  untilAnswers,
} from './lib/programs.mjs'
import { measureMemory, measurePush, measureStart } from './lib/replicas.mjs'
import { machine, median, publish, table } from './lib/report.mjs'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '4' } },
})
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)
const [major] = process.versions.node.split('.')
const API = join(import.meta.dirname, '../apps/api/dist/main.js')
const LIVE = '/api/v1/kimchi-premium'
const DAILY = `${LIVE}/BTC/daily`
const dir = mkdtempSync(join(tmpdir(), 'kimchi-bench-'))

if (!isInstalled('wrk')) {
  process.stderr.write('wrk is needed to make load: apt-get install wrk\n')
  process.exit(1)
}

/** What is asked for, and of how large a Redis. */
const SCENARIOS = [
  { name: 'live, 10 coins', coins: 10, days: 1, path: LIVE, rivals: ['obvious', 'webdis'] },
  { name: 'live, 200 coins', coins: 200, days: 1, path: LIVE, rivals: ['obvious', 'webdis'] },
  { name: 'live, 200 coins, gzip', coins: 200, days: 1, path: LIVE, headers: { 'Accept-Encoding': 'gzip' } },
  { name: 'live, 200 coins, 304', coins: 200, days: 1, path: LIVE, conditional: true },
  { name: 'history, 365 days', coins: 10, days: 400, path: DAILY, rivals: ['obvious'] },
  { name: 'history, 1,825 days', coins: 10, days: 1_900, path: `${DAILY}?days=1825`, rivals: ['obvious'] },
]

try {
  const sections = [await measureScenarios(), await measureReplicas()]
  publish(`serving on Node ${major}`, sections.join('\n\n'))
} finally {
  await stopAll()
  rmSync(dir, { recursive: true, force: true })
}

async function measureScenarios() {
  /** @type {(string | number)[][]} */
  const rows = []
  const commands = []
  let generator = 0
  for (const scenario of SCENARIOS) {
    const redis = await startRedis()
    const stack = await fill(redis.url, scenario)
    await stack.writeMinute(Math.floor(Date.now() / 60_000))
    const contestants = await startContestants(scenario, redis)
    const runs = new Map(
      contestants.map(({ name }) => [name, /** @type {import('./lib/load.mjs').Load[]} */ ([])]),
    )
    for (const { url, headers, pids } of contestants) await load(url, { seconds: 1, headers, pids: pids() })
    const raw = redis.client()
    for (let round = 0; round < rounds; round++) {
      // Every round in another order, so that no contestant always comes first.
      const order = contestants.map((_, index) => contestants[(index + round) % contestants.length])
      for (const contestant of order) {
        if (contestant === undefined) continue
        const before = await commandsOf(raw)
        const result = await load(contestant.url, {
          seconds,
          headers: contestant.headers,
          pids: contestant.pids(),
        })
        if (contestant.name === 'API') {
          commands.push((((await commandsOf(raw)) - before - 1) / result.requests) * 100_000)
        }
        runs.get(contestant.name)?.push(result)
        process.stdout.write('.')
      }
    }
    const all = (/** @type {string} */ name, /** @type {keyof import('./lib/load.mjs').Load} */ field) =>
      (runs.get(name) ?? []).map(run => run[field])
    const of = (/** @type {string} */ name, /** @type {keyof import('./lib/load.mjs').Load} */ field) =>
      median(all(name, field))
    // Ratios within a round, because the machine itself is faster in one round than in another.
    const toBare = (/** @type {string} */ name, /** @type {keyof import('./lib/load.mjs').Load} */ field) => {
      const bare = all('bare node:http', field)
      return median(all(name, field).map((value, round) => value / Number(bare[round]))).toFixed(2)
    }
    for (const { name } of contestants) {
      generator = Math.max(generator, of(name, 'generatorLoad'))
      rows.push([
        scenario.name,
        name,
        Math.round(of(name, 'rps')).toLocaleString('en'),
        toBare(name, 'rps'),
        `${of(name, 'p99').toFixed(2)} ms`,
        toBare(name, 'p99'),
        `${of(name, 'cpuMicros').toFixed(1)} µs`,
        toBare(name, 'cpuMicros'),
      ])
    }
    for (const { child } of contestants) await stopServer(child)
    await stack.close()
    await redis.close()
  }
  return `## Serving, Node ${major}

${machine()}. Load: ${LOAD_GENERATOR}, on a core of its own; at most ${Math.round(generator * 100)} % of that core was used. Servers: one core,
Redis where the system puts it. ${rounds} rounds of ${seconds} s in turn after one to warm up, medians. "×" is the median of the ratios within a round to bare
node:http sending the same bytes and headers.
CPU counts everything a request costs: for the obvious design and Webdis that is their Redis too.

${table(['what', 'who', 'requests/s', '×', 'p99', '×', 'CPU/request', '×'], rows)}

Redis commands per 100,000 requests to the API: ${median(commands).toFixed(1)} (median of ${commands.length} runs; at most ${Math.max(...commands).toFixed(1)}). A run that is not at zero
holds one read of the safety net, which looks by itself when no minute has come for 65 s; Redis counts every command within its Function call.`
}

async function measureReplicas() {
  const push = await measurePush(API)
  const memory = []
  for (const days of [365, 1_825]) memory.push(await measureMemory(API, days))
  const start = await measureStart(API)
  return `## Replicas, Node ${major}

From the minute's write (one Redis Function call for 200 coins) to the first byte of a new answer, ${push.minutes} minutes:

${table(['', 'median', 'p99', 'worst'], push.rows)}

Resident memory of one replica at 200 coins with all histories held, each asked for plain, gzip and br:

${table(['days per coin', 'after start', 'histories held', '10 minutes later'], memory)}

From the start of the process to its first 200: ${start.median} ms (median of ${start.runs}, worst ${start.worst} ms).`
}

/**
 * @typedef {object} Contestant
 * @property {string} name
 * @property {string} url
 * @property {Record<string, string>} headers
 * @property {import('node:child_process').ChildProcess} child
 * @property {() => readonly (number | undefined)[]} pids whose processor time a request costs
 */

/**
 * @param {(typeof SCENARIOS)[number]} scenario
 * @param {import('../packages/testkit/dist/index.js').TestRedis} redis
 * @returns {Promise<Contestant[]>}
 */
async function startContestants(scenario, redis) {
  const { path, rivals = [], conditional = false } = scenario
  const url = (/** @type {number} */ port, suffix = path) => `http://127.0.0.1:${port}${suffix}`
  const redisPid = Number(/process_id:(\d+)/.exec(await redis.client().info('server'))?.[1])
  const apiPort = await freePort()
  const api = startServer(process.execPath, ['--enable-source-maps', API], {
    REDIS_URL: redis.url,
    HOST: '127.0.0.1',
    PORT: String(apiPort),
    OPS_PORT: '0',
    LOG_LEVEL: 'warn',
  })
  await untilAnswers(url(apiPort))
  /** @type {Record<string, string>} */
  const headers = { ...scenario.headers }
  const ask = () => exchange(url(apiPort), headers)
  let answer = await ask()
  // The coded bytes are made when they are first wanted.
  while (headers['Accept-Encoding'] && !answer.headers['content-encoding']) answer = await ask()
  if (conditional) {
    headers['If-None-Match'] = String(answer.headers.etag)
    answer = await ask()
  }
  const barePort = await freePort()
  const bodyFile = join(dir, `body-${barePort}`)
  writeFileSync(bodyFile, answer.body)
  const same = {
    port: barePort,
    status: answer.status,
    headers: own(answer.headers),
    ...(answer.body.length > 0 ? { bodyFile } : {}),
  }
  const bare = startServer(process.execPath, [
    join(import.meta.dirname, 'contestants/bare.mjs'),
    JSON.stringify(same),
  ])
  await untilAnswers(url(barePort))
  const contestants = [
    { name: 'bare node:http', url: url(barePort), headers, child: bare, pids: () => [bare.pid] },
    { name: 'API', url: url(apiPort), headers, child: api, pids: () => [api.pid] },
  ]
  if (rivals.includes('obvious')) {
    const port = await freePort()
    const options = JSON.stringify({ port, redisUrl: redis.url })
    const child = startServer(process.execPath, [
      join(import.meta.dirname, 'contestants/obvious.mjs'),
      options,
    ])
    await untilAnswers(url(port))
    contestants.push({
      name: 'obvious design',
      url: url(port),
      headers,
      child,
      pids: () => [child.pid, redisPid],
    })
  }
  if (isInstalled('nginx')) {
    const port = await freePort()
    const plain = await exchange(url(apiPort), {})
    const [plainPath = path] = path.split('?')
    const args = prepareNginx({
      dir: join(dir, `nginx-${port}`),
      port,
      path: plainPath,
      headers: own(plain.headers),
      body: plain.body,
    })
    const child = startServer('nginx', args)
    await untilAnswers(url(port))
    const tag = conditional ? { 'If-None-Match': String((await exchange(url(port), {})).headers.etag) } : {}
    contestants.push({
      name: 'nginx, static file',
      url: url(port),
      headers: { ...headers, ...tag },
      child,
      pids: () => [child.pid],
    })
  }
  if (rivals.includes('webdis') && isInstalled('webdis')) {
    const port = await freePort()
    const child = startServer('webdis', prepareWebdis({ dir, port, redisPort: redis.port }))
    await untilAnswers(url(port, WEBDIS_PATH))
    contestants.push({
      name: 'Webdis',
      url: url(port, WEBDIS_PATH),
      headers,
      child,
      pids: () => [child.pid, redisPid],
    })
  }
  for (const { pids } of contestants) pids().forEach(cpuSeconds)
  return contestants
}

/** @param {import('ioredis').Redis} raw */
async function commandsOf(raw) {
  return Number(/total_commands_processed:(\d+)/.exec(await raw.info('stats'))?.[1])
}
