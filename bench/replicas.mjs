#!/usr/bin/env node
/**
 * Measures how soon a written minute is answered, how much memory a replica takes and how fast it starts,
 * and writes a section per version of Node into docs/benchmarks.md.
 *   npm run bench -- replicas
 */
import { Agent, get } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { startRedis } from '../packages/testkit/dist/index.js'
import { fill } from './lib/fill.mjs'
import {
  API,
  apiEnv,
  freePort,
  residentMb,
  startServer,
  stopAll,
  stopServer,
  untilAnswers,
} from './lib/programs.mjs'
import { machine, major, median, percentile, publish, table } from './lib/report.mjs'

const LIVE = '/api/v1/kimchi-premium'
const COINS = 200
const PUSHED_MINUTES = 200
const STARTS = 10
const REBUILDS = 10
/** A documented option of Node, for who wants to trade. */
const SMALL_YOUNG_GENERATION = '--max-semi-space-size=4'

try {
  const push = await measurePush()
  // Together, because each takes ten minutes of waiting.
  const memory = await Promise.all(
    [365, 1_825].flatMap(days =>
      ['', SMALL_YOUNG_GENERATION].map(nodeOptions => measureMemory(days, nodeOptions)),
    ),
  )
  const start = await measureStart()
  publish(`replicas on Node ${major}`, report(push, memory, start))
} finally {
  await stopAll()
}

/**
 * @param {Awaited<ReturnType<typeof measurePush>>} push
 * @param {readonly (readonly string[])[]} memory
 * @param {Awaited<ReturnType<typeof measureStart>>} start
 */
function report(push, memory, start) {
  return `## Replicas, Node ${major}

${machine()}. From the minute's write (one Redis Function call for ${COINS} coins) to the first byte of a new answer, ${push.minutes} minutes:

${table(['', 'median', 'p99', 'worst'], push.rows)}

Resident memory of one replica at ${COINS} coins with all histories held, each asked for plain, gzip and br; started as the image starts it:

${table(['days per coin', 'NODE_OPTIONS', 'after start', 'histories held', `${REBUILDS} minutes later`, 'highest'], memory)}

From the start of the process to its first 200: ${start.median} ms (median of ${start.runs}, worst ${start.worst} ms).`
}

/** Time from the start of a minute's write to the first new byte, on each of three replicas. */
async function measurePush() {
  const redis = await startRedis()
  const stack = await fill(redis.url, { coins: COINS, days: 1 })
  // Minutes of the past, each newer than the one before: for a replica that is all that makes one new.
  let minute = Math.floor(Date.now() / 60_000) - PUSHED_MINUTES - 10
  await stack.writeMinute(minute)
  const replicas = await Promise.all([0, 1, 2].map(() => startReplica(redis.url, false)))
  const agent = new Agent({ keepAlive: true })
  const tags = []
  for (const { port } of replicas) tags.push((await ask(port, LIVE, {}, agent)).tag)
  /** @type {number[]} */
  const writes = []
  const delays = /** @type {number[][]} */ (replicas.map(() => []))
  const waits = /** @type {number[][]} */ (replicas.map(() => []))
  for (let n = 0; n < PUSHED_MINUTES; n++) {
    minute += 1
    const seen = replicas.map(({ port }, index) => firstByteAfter(port, tags[index] ?? '', agent))
    await delay(20)
    const start = performance.now()
    await stack.writeMinute(minute)
    const end = performance.now()
    writes.push(end - start)
    for (const [index, { at, tag }] of (await Promise.all(seen)).entries()) {
      delays[index]?.push(at - start)
      waits[index]?.push(at - end)
      tags[index] = tag
    }
  }
  agent.destroy()
  for (const { child } of replicas) await stopServer(child)
  await stack.close()
  await redis.close()
  const row = (/** @type {string} */ name, /** @type {readonly number[]} */ values) => [
    name,
    ...[median(values), percentile(values, 0.99), Math.max(...values)].map(value => `${value.toFixed(1)} ms`),
  ]
  const rows = [
    ...waits.map((values, index) => row(`replica ${index + 1}, from the write's confirmation`, values)),
    ...delays.map((values, index) => row(`replica ${index + 1}, from the write's start`, values)),
    row('the write itself', writes),
  ]
  return { minutes: PUSHED_MINUTES, rows }
}

/**
 * Resident memory with every history held.
 * @param {number} days @param {string} nodeOptions
 */
async function measureMemory(days, nodeOptions) {
  const redis = await startRedis()
  const stack = await fill(redis.url, { coins: COINS, days })
  let minute = Math.floor(Date.now() / 60_000) - 20
  await stack.writeMinute(minute)
  const { child, port } = await startReplica(redis.url, true, nodeOptions)
  const after = [residentMb(child.pid)]
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const askAll = async () => {
    for (const coding of ['identity', 'gzip', 'br', 'br']) {
      for (const symbol of stack.symbols)
        await ask(port, `${LIVE}/${symbol}/daily?days=${days}`, { 'accept-encoding': coding }, agent)
      for (const symbol of stack.symbols)
        await ask(port, `${LIVE}/${symbol}/daily`, { 'accept-encoding': coding }, agent)
    }
  }
  await askAll()
  after.push(residentMb(child.pid))
  const last = `${LIVE}/${stack.symbols.at(-1)}/daily`
  for (let n = 0; n < REBUILDS; n++) {
    // V8 and malloc give memory back with time: ten minutes in a few seconds say too much.
    const nextMinute = delay(60_000)
    const { tag } = await ask(port, last, {}, agent)
    minute += 1
    await stack.writeMinute(minute)
    // Histories are rebuilt in the order in which they were first asked for.
    while ((await ask(port, last, {}, agent)).tag === tag) await delay(5)
    await askAll()
    await nextMinute
  }
  after.push(residentMb(child.pid), residentMb(child.pid, 'VmHWM'))
  agent.destroy()
  await stopServer(child)
  await stack.close()
  await redis.close()
  return [
    days.toLocaleString('en'),
    nodeOptions && `\`${nodeOptions}\``,
    ...after.map(value => `${value.toFixed(0)} MB`),
  ]
}

/** Time from the start of the process to its first 200. */
async function measureStart() {
  const redis = await startRedis()
  const stack = await fill(redis.url, { coins: COINS, days: 1 })
  await stack.writeMinute(Math.floor(Date.now() / 60_000))
  const times = []
  for (let n = 0; n < STARTS; n++) {
    const start = performance.now()
    const { child } = await startReplica(redis.url, false)
    times.push(performance.now() - start)
    await stopServer(child)
  }
  await stack.close()
  await redis.close()
  return { runs: STARTS, median: Math.round(median(times)), worst: Math.round(Math.max(...times)) }
}

/** @param {string} redisUrl @param {boolean} pinned */
async function startReplica(redisUrl, pinned, nodeOptions = '') {
  const port = await freePort()
  const env = { ...apiEnv(redisUrl, port), NODE_OPTIONS: nodeOptions }
  const child = startServer(process.execPath, ['--enable-source-maps', API], env, pinned)
  await untilAnswers(`http://127.0.0.1:${port}${LIVE}`)
  return { child, port }
}

/**
 * Asks over one connection, again and again, for anything newer than this tag; gives when its first byte
 * came.
 * @param {number} port @param {string} tag @param {Agent} agent
 */
async function firstByteAfter(port, tag, agent) {
  for (;;) {
    const answer = await ask(port, LIVE, { 'if-none-match': tag }, agent)
    if (answer.status === 200) return answer
    // Three watchers and three replicas share the cores: a pause of a millisecond keeps them from measuring
    // each other.
    await delay(1)
  }
}

/**
 * @param {number} port @param {string} path @param {Record<string, string>} headers @param {Agent} [agent]
 * @returns {Promise<{ status: number, tag: string, at: number }>}
 */
function ask(port, path, headers, agent) {
  return new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1', path, headers, agent: agent ?? false }, response => {
      const at = performance.now()
      response.resume()
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, tag: String(response.headers.etag), at }),
      )
    }).on('error', reject)
  })
}
