#!/usr/bin/env node
/**
 * Measures what hostile clients cost: `?days=N` in rotation, and slow readers. Writes a section per version
 * of Node into docs/benchmarks.md.
 *   npm run bench -- faults
 * Needs wrk, and python3 for readers with small buffers.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startRedis } from '../packages/testkit/dist/index.js'
import { exchange } from './lib/exchange.mjs'
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
import { machine, major, publish, table } from './lib/report.mjs'
import { measureRounds } from './lib/rounds.mjs'

const run = promisify(execFile)
const LIVE = '/api/v1/kimchi-premium'
const COINS = 200
const DAYS = 3_650
const FIXED = DAYS / 2
const [rounds, seconds] = [7, 2]
/** kB/s. */
const RATES = [10, 5, 3]

const dir = mkdtempSync(join(tmpdir(), 'kimchi-bench-faults-'))
try {
  const redis = await startRedis()
  const stack = await fill(redis.url, { coins: COINS, days: DAYS })
  await stack.writeMinute(Math.floor(Date.now() / 60_000))
  const port = await freePort()
  const child = startServer(process.execPath, ['--enable-source-maps', API], apiEnv(redis.url, port))
  const base = `http://127.0.0.1:${port}${LIVE}`
  await untilAnswers(base)
  for (const symbol of stack.symbols) await exchange(`${base}/${symbol}/daily`, {})
  const held = residentMb(child.pid)
  const { rows, memory } = await measureRotation(base, child.pid, stack.symbols)
  const readers = await measureReaders(`${base}/BTC/daily?days=${DAYS}`)
  publish(`faults on Node ${major}`, report(rows, [held, ...memory], readers))
  await stopServer(child)
  await stack.close()
  await redis.close()
} finally {
  await stopAll()
  rmSync(dir, { recursive: true, force: true })
}

/** @param {string} base @param {number | undefined} pid @param {readonly string[]} symbols */
async function measureRotation(base, pid, symbols) {
  const url = `${base}/BTC/daily?days=${FIXED}`
  const rotation = join(dir, 'rotation.lua')
  // Every N of one coin, then of the next.
  writeFileSync(
    rotation,
    `local coins = { ${symbols.map(symbol => `'${symbol}'`).join(', ')} }
local n = 0
request = function()
  n = n + 1
  local coin = coins[math.floor(n / ${DAYS}) % #coins + 1]
  return wrk.format('GET', '${LIVE}/' .. coin .. '/daily?days=' .. (n * 7 % ${DAYS} + 1))
end
`,
  )
  const pids = () => [pid]
  const br = { 'Accept-Encoding': 'br' }
  const contestants = [
    { name: `?days=${FIXED}, plain`, url, headers: {}, pids },
    { name: `?days=1 to ${DAYS} in rotation, plain`, url, headers: {}, pids, script: rotation },
    { name: `?days=1 to ${DAYS} in rotation, asking for br`, url, headers: br, pids, script: rotation },
  ]
  const memory = []
  const first = await measureRounds(contestants, { rounds, seconds })
  memory.push(residentMb(pid))
  await measureRounds(contestants, { rounds, seconds })
  memory.push(residentMb(pid))
  const [fixed] = contestants
  const rows = contestants.map(({ name }) => [
    name,
    `${first.of(name, 'cpuMicros').toFixed(1)} µs`,
    first.ratio(name, String(fixed?.name), 'cpuMicros').toFixed(2),
  ])
  return { rows, memory }
}

/** @param {string} url */
async function measureReaders(url) {
  const { port, pathname, search } = new URL(url)
  const whole = (await exchange(url, {})).body.length
  const program = join(import.meta.dirname, 'contestants/slow-reader.py')
  return Promise.all(
    RATES.map(async rate => {
      const { stdout } = await run('python3', [program, port, pathname + search, String(rate)])
      const [received = 0, time = 0] = stdout.split(' ').map(Number)
      return [
        `${rate} kB/s`,
        `${Math.floor(received / 1_000)} of ${Math.floor(whole / 1_000)} kB`,
        received === whole ? 'complete' : 'cut',
        `${time.toFixed(0)} s`,
      ]
    }),
  )
}

/**
 * @param {readonly (readonly string[])[]} rotation
 * @param {readonly number[]} memory
 * @param {readonly (readonly string[])[]} readers
 */
function report(rotation, memory, readers) {
  const [held, once, again] = memory.map(value => `${value.toFixed(0)} MB`)
  return `## Hostile clients, Node ${major}

${machine()}. ${COINS} coins with ${DAYS.toLocaleString('en')} days each, all histories held.

One number of rows, and all of them in rotation; ${rounds} rounds of ${seconds} s, "÷" as above:

${table(['asked for', 'CPU/request', '÷ one number'], rotation)}

Resident memory: ${held} with all histories held, ${once} after these rounds, ${again} after as many again.

A reader with 4 kB of buffer that asks for ${DAYS.toLocaleString('en')} days, all at the same time:

${table(['takes', 'got', 'outcome', 'after'], readers)}`
}
