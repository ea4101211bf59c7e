import { fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { machine, median, table } from './lib/report.mjs'
import { measureIngester } from './streaming/measure-ingester.mjs'
import { measureWrites } from './streaming/measure-writes.mjs'

const COINS = 200
const FRAMES_PER_SECOND = 5_000
const WARM_FRAMES = 5_000
const FRAMES = 35_000
const ROUNDS = Number(process.argv[2] ?? 5)
const CONTESTANTS = /** @type {const} */ (['bare', 'bare-simple', 'ours', 'ccxt'])
const NAMES = {
  bare: 'bare `ws` + `JSON.parse`, Upbit DEFAULT',
  'bare-simple': 'bare `ws` + `JSON.parse`, Upbit SIMPLE',
  ours: 'this project (feeds and latest ticks)',
  ccxt: 'ccxt pro `watchTickers`',
}

const frames = await measureFrames()
const writes = await measureWrites(COINS)
const ingester = await measureIngester(COINS, FRAMES_PER_SECOND)
const text = report()
process.stdout.write(text)
writeFileSync(join(import.meta.dirname, '../docs/benchmarks-streaming.md'), text)

/** Every contestant in turn takes in the same frames, several times over. */
async function measureFrames() {
  const source = fork(path('frames.mjs'), [COINS, FRAMES_PER_SECOND, FRAMES].map(String))
  const [{ restUrl, wsUrl, codes, bytes, binance }] = await once(source, 'message')
  /** @type {Record<string, { cpuMicros: number, rssMb: number }[]>} */
  const rounds = { bare: [], 'bare-simple': [], ours: [], ccxt: [] }
  for (let round = 0; round < ROUNDS; round++) {
    for (const kind of CONTESTANTS) {
      const args = [kind, wsUrl, restUrl, codes.join(','), String(WARM_FRAMES), String(FRAMES)]
      const contestant = fork(path('contestant.mjs'), args)
      const [result] = await once(contestant, 'message')
      await once(contestant, 'exit')
      rounds[kind]?.push(result)
      process.stderr.write(`round ${round + 1} ${kind}: ${result.cpuMicros.toFixed(2)} µs per frame\n`)
    }
  }
  source.disconnect()
  return { rounds, bytes, binance }
}

/** @param {string} file */
function path(file) {
  return join(import.meta.dirname, 'streaming', file)
}

function report() {
  const { rounds, bytes, binance } = frames
  const of = (/** @type {string} */ kind, /** @type {'cpuMicros' | 'rssMb'} */ what) =>
    median((rounds[kind] ?? []).map(result => result[what]))
  const ratio = (/** @type {string} */ a, /** @type {string} */ b) =>
    median((rounds[a] ?? []).map((result, at) => result.cpuMicros / Number(rounds[b]?.[at]?.cpuMicros)))
  const goal = (/** @type {boolean} */ isMet) => (isMet ? 'yes' : '**no**')
  const toBare = ratio('ours', 'bare')
  const toCcxt = ratio('ccxt', 'ours')
  const goals = [
    [
      'CPU per frame, ours ÷ bare `ws` + `JSON.parse` of DEFAULT frames',
      `${toBare.toFixed(2)} ×`,
      '≤ 0.9 ×',
      goal(toBare <= 0.9),
    ],
    ['CPU per frame, ccxt pro ÷ ours', `${toCcxt.toFixed(1)} ×`, '≥ 4 ×', goal(toCcxt >= 4)],
    [
      'resident memory of the streaming process, most',
      `${ingester.rssMb.toFixed(0)} MB`,
      '≤ 150 MB',
      goal(ingester.rssMb <= 150),
    ],
    [
      `longest stall of the event loop in ${ingester.seconds} s with ${ingester.refreshes} refreshes of the catalogue`,
      `${ingester.ownStallMs.toFixed(1)} ms`,
      '≤ 50 ms',
      goal(ingester.ownStallMs <= 50),
    ],
    [
      `a minute's write, median (99th percentile)`,
      `${median(writes).toFixed(1)} ms (${percentileOf(writes).toFixed(1)} ms)`,
      '≤ 20 ms',
      goal(median(writes) <= 20),
    ],
  ]
  const sizeOf = (/** @type {string} */ form) => `${Math.round(bytes[form])} bytes`
  const sizes = `${FRAMES.toLocaleString('en')} frames, ${binance.toLocaleString('en')} of them Binance's; on average ${sizeOf('DEFAULT')} in Upbit's DEFAULT format, ${sizeOf('SIMPLE')} in SIMPLE`
  return `# Streaming benchmarks

Made by \`node bench/streaming.mjs\` on ${machine()}. Nothing else should run beside it.

## At ${COINS} coins and ${FRAMES_PER_SECOND.toLocaleString('en')} frames a second

${table(['what', 'measured', 'goal', 'met'], goals)}

- The REST child at its peak, with an exchangeInfo of ${ingester.symbols.toLocaleString('en')} symbols: ${ingester.childPeakMb.toFixed(0)} MB. It ends when idle.
- The whole ingester takes ${(100 * ingester.cpuShare).toFixed(0)} % of a core at ${ingester.framesPerSecond.toFixed(0)} frames a second.
- Redis spends ${ingester.redisMs.toFixed(1)} ms on a function call, on average over ${ingester.calls} calls: ${ingester.samples / (COINS + 1)} minutes of ${COINS + 1} coins, and lists of coins.

## CPU per frame

Identical frames (${sizes}), recorded from the simulator, kept in memory and sent by a process of its own, without compression. Contestants
take turns, each in a fresh process; the first ${WARM_FRAMES.toLocaleString('en')} frames warm up and don't count. Medians of ${ROUNDS} rounds, ratios medians of the ratios within a round.

${table(
  ['contestant', 'µs of CPU per frame', 'lowest to highest', 'resident MB'],
  CONTESTANTS.map(kind => {
    const all = (rounds[kind] ?? []).map(({ cpuMicros }) => cpuMicros)
    return [
      NAMES[kind],
      of(kind, 'cpuMicros').toFixed(2),
      `${Math.min(...all).toFixed(2)} – ${Math.max(...all).toFixed(2)}`,
      of(kind, 'rssMb').toFixed(0),
    ]
  }),
)}

Why not 0.9 ×: most of a frame's cost is the kernel's and \`ws\`' work to receive it, the same for all. SIMPLE instead of DEFAULT
saves ${(of('bare', 'cpuMicros') - of('bare-simple', 'cpuMicros')).toFixed(1)} µs, which checking the fields, the watermark and the watchdogs use up again. Reading less
often would save more, but the time of arrival would be lost, and the ingester uses a tenth of a core.

## How

- Memory, stalls and the write come from a real ingester on the live simulator and a real Redis: \`process.memoryUsage.rss\` four times a second, \`monitorEventLoopDelay\`
  with a resolution of 1 ms over the whole run, minute turns and writes included, after the first 10 s. The catalogue is refreshed every
  ${ingester.refreshSeconds} s here, hourly in production, and each time restarts the REST child. Counted is the part of a stall in which the process used the
  processor, since others may take it away: the longest delay by the wall clock was ${ingester.stallMs.toFixed(1)} ms, that of an idle Node process
  beside it ${ingester.idleStallMs.toFixed(1)} ms.
- The write is timed around the real writer with ${COINS} coins, ${writes.length} minutes one after the other, from the call to Redis' confirmation.
`
}

/** @param {readonly number[]} values */
function percentileOf(values) {
  return Number(values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1])
}
