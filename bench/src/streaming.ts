import { setTimeout as delay } from 'node:timers/promises'
import { type Simulator, startSimulator, syntheticCoins } from '@kimchi/simulator'
import { startProgram, startRedis, type Teardown, withTeardown } from '@kimchi/testkit'
import { median, medianRatio, type Options, table, writeSection } from './lib/report.ts'
import { cpuSeconds, programOf, residentMb, startIngester } from './lib/servers.ts'

const COINS = 200
const FRAMES_PER_SECOND = 5_000
/** How many Binance lists, most of which the service doesn't track. */
const SYMBOLS = 3_500
const FRAMES = { warmUp: 60_000, frames: 20_000 }
const CONTESTANTS = {
  bare: 'bare `ws` and `JSON.parse`',
  feeds: 'this project: feeds and latest ticks',
  ccxt: 'ccxt pro `watchTickers`',
}
const START_MS = 10_000
/** How long a whole ingester is measured, after its start. */
const SECONDS = 60

/** Measures what a frame costs, beside bare ws and ccxt pro, and what a whole ingester needs. */
export async function streaming({ rounds }: Options): Promise<void> {
  const results: Record<string, { micros: number[]; mb: number[] }> = {}
  const ingester = await withTeardown(async t => {
    const exchanges = await startExchanges(t)
    for (let round = 0; round < rounds; round++) {
      for (const kind of Object.keys(CONTESTANTS)) {
        const [, ...args] = programOf('receive-frames', { kind, coins: COINS, ...FRAMES })
        const program = startProgram(t, args, exchanges.env)
        const { micros, mb } = JSON.parse(await program.line(line => line.startsWith('{')))
        results[kind] ??= { micros: [], mb: [] }
        results[kind].micros.push(micros)
        results[kind].mb.push(mb)
        process.stderr.write('.')
      }
    }
    return measureIngester(t, exchanges)
  })
  const rows = Object.entries(CONTESTANTS).map(([kind, name]) => {
    const { micros = [], mb = [] } = results[kind] ?? {}
    const ratio = medianRatio(micros, results.bare?.micros ?? [])
    return [name, `${median(micros).toFixed(1)} µs`, ratio.toFixed(2), `${median(mb).toFixed(0)} MB`]
  })
  writeSection('Streaming', [
    `${COINS} coins, ${FRAMES_PER_SECOND.toLocaleString('en')} frames a second from the simulator in another process; ${rounds} rounds, each contestant in a fresh process, ${FRAMES.frames.toLocaleString('en')} frames after ${FRAMES.warmUp.toLocaleString('en')} to warm up.`,
    table(['', 'CPU per frame', '÷ bare', 'resident'], rows),
    `A whole ingester on the same exchanges and a real Redis, for ${SECONDS} s: ${ingester}.`,
  ])
}

async function startExchanges(t: Teardown): Promise<Simulator> {
  const tradesPerMinute = ((FRAMES_PER_SECOND - COINS) * 60) / COINS
  const others = Array.from({ length: SYMBOLS - COINS }, (_, n) => {
    return { id: `other-${n}`, price: 1 + n, binance: { asset: `OTHER${n}`, tradesPerMinute: 1 } }
  })
  const coins = [...syntheticCoins(COINS, tradesPerMinute), ...others]
  const exchanges = await startSimulator({ coins, limits: false, pumpMs: 1 })
  t.teardown(() => exchanges.close())
  return exchanges
}

/** What a real ingester needs, in words. */
async function measureIngester(t: Teardown, exchanges: Simulator): Promise<string> {
  const redis = await startRedis(t)
  const pid = await startIngester(t, exchanges, redis.url, 0)
  await delay(START_MS)
  const before = cpuSeconds(pid)
  await delay(1_000 * SECONDS)
  const share = (cpuSeconds(pid) - before) / SECONDS
  return `${residentMb(pid).toFixed(0)} MB, ${(100 * share).toFixed(0)} % of a core`
}
