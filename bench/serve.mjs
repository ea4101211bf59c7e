#!/usr/bin/env node
/**
 * Measures the API side by side with bare node:http, other designs, nginx and Webdis, and writes a section
 * per version of Node into docs/benchmarks.md.
 *   npm run bench -- serve [--rounds 21] [--seconds 1] [--peers]
 * Needs wrk; nginx and webdis take part where they are installed, with --peers what else people use, which
 * is installed into a temporary folder.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startRedis } from '../packages/testkit/dist/index.js'
import { ADAPTERS, installPeers, startContestants } from './lib/contestants.mjs'
import { fill } from './lib/fill.mjs'
import { LOAD_GENERATOR } from './lib/load.mjs'
import { stopAll } from './lib/programs.mjs'
import { machine, major, median, publish, table } from './lib/report.mjs'
import { measureRounds, WARM_UP_S } from './lib/rounds.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '21' },
    seconds: { type: 'string', default: '1' },
    peers: { type: 'boolean', default: false },
  },
})
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)]
const BARE = 'bare node:http'
const ADAPTER_NOTE =
  "The adapter framework is Chainlink's, with its metrics, which are on unless turned off, and without: one coin to a request, each a hit of its cache in memory."
const LIVE = '/api/v1/kimchi-premium'
const DAILY = `${LIVE}/BTC/daily`

/** @type {readonly import('./lib/contestants.mjs').Scenario[]} */
const SCENARIOS = [
  { name: 'live, 10 coins', coins: 10, days: 1, path: LIVE, rivals: ['lean', 'obvious', 'webdis'] },
  { name: 'live, 200 coins', coins: 200, days: 1, path: LIVE, rivals: ['lean', 'obvious', 'webdis'] },
  { name: 'live, 200 coins, gzip', coins: 200, days: 1, path: LIVE, headers: { 'Accept-Encoding': 'gzip' } },
  { name: 'live, 200 coins, 304', coins: 200, days: 1, path: LIVE, conditional: true },
  { name: 'history, 365 days', coins: 10, days: 400, path: DAILY, rivals: ['lean', 'obvious'] },
  {
    name: 'history, 1,825 days',
    coins: 10,
    days: 1_900,
    path: `${DAILY}?days=1825`,
    rivals: ['lean', 'obvious'],
  },
  // Last, and only with --peers: what the framework does every second is felt by everyone on its core.
  { name: 'live, 200 coins, beside adapters', coins: 200, days: 1, path: LIVE, rivals: ['adapter'] },
]

const dir = mkdtempSync(join(tmpdir(), 'kimchi-bench-'))
try {
  const peersIn = values.peers ? installPeers(join(dir, 'peers')) : undefined
  publish(`serving on Node ${major}`, await report(peersIn))
} finally {
  await stopAll()
  rmSync(dir, { recursive: true, force: true })
}

/** @param {string | undefined} peersIn */
async function report(peersIn) {
  /** @type {string[][]} */
  const rows = []
  const commands = []
  let generator = 0
  for (const scenario of SCENARIOS.filter(({ rivals }) => peersIn || !rivals?.includes('adapter'))) {
    const redis = await startRedis()
    const stack = await fill(redis.url, scenario)
    const stopWriting = await stack.keepWriting()
    const contestants = await startContestants(scenario, { redis, dir, ...(peersIn && { peersIn }) })
    const raw = redis.client()
    const before = await callsOf(raw)
    const { of, ratio, all } = await measureRounds(contestants, { rounds, seconds })
    const asked = all('API', 'requests').reduce((sum, requests) => sum + requests, 0)
    commands.push((((await callsOf(raw)) - before) / asked) * 100_000)
    for (const { name } of contestants) {
      generator = Math.max(generator, of(name, 'generatorLoad'))
      rows.push([
        scenario.name,
        name,
        Math.round(of(name, 'rps')).toLocaleString('en'),
        ratio(name, BARE, 'rps').toFixed(2),
        `${of(name, 'p99').toFixed(2)} ms`,
        ratio(name, BARE, 'p99').toFixed(2),
        `${of(name, 'cpuMicros').toFixed(1)} µs`,
        ratio(name, BARE, 'cpuMicros').toFixed(2),
        ratio(name, 'API', 'cpuMicros').toFixed(2),
      ])
    }
    await stopWriting()
    await stopAll()
    await stack.close()
    await redis.close()
  }
  const head = ['what', 'who', 'requests/s', '÷ bare', 'p99', '÷ bare', 'CPU/request', '÷ bare', '÷ API']
  return `## Serving, Node ${major}

${machine()}. Load: ${LOAD_GENERATOR}, on a core of its own; at most ${Math.round(generator * 100)} % of that core was used. Servers: one core, Redis where the system puts it. ${rounds} rounds of ${seconds} s in random order after ${WARM_UP_S} s to warm up, a new minute written each minute; medians; "÷" is the median of the ratios within a round. Bare node:http has the API's server options and sends its bytes and headers. Lean Fastify has @fastify/cors and serialises one object in memory for every request, by JSON.stringify or by a response schema; the obvious design reads Redis for every request and parses each entry once. CPU counts everything that a request costs: for the obvious design and Webdis that is their Redis too.${rows.some(([, who = '']) => who in ADAPTERS) ? ` ${ADAPTER_NOTE}` : ''}

${table(head, rows)}

Calls of the store's functions per 100,000 requests to the API: ${median(commands).toFixed(1)} (median of ${commands.length} runs; at most ${Math.max(...commands).toFixed(1)}). One read a minute is what a new minute costs.`
}

/** @param {import('ioredis').Redis} raw */
async function callsOf(raw) {
  return Number(/cmdstat_fcall_ro:calls=(\d+)/.exec(await raw.info('commandstats'))?.[1] ?? 0)
}
