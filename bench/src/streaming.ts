import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '@kimchi/local-redis'
import { startSimulator, syntheticCoins } from '@kimchi/simulator'
import { startProgram, startRedis, type Teardown } from '@kimchi/testkit'
import type { Options } from './lib/load.ts'
import { median, publish, table } from './lib/report.ts'
import { onStage } from './lib/stage.ts'

const COINS = 200
const FRAMES_PER_SECOND = 5_000
/** Of Binance, most of which are no business of ours. */
const SYMBOLS = 3_500
const FRAMES_PROGRAM = fileURLToPath(new URL('./programs/frames.js', import.meta.url))
const FRAMES = { warmUp: 5_000, frames: 20_000 }
const CONTESTANTS = {
  DEFAULT: 'bare `ws` and `JSON.parse`',
  SIMPLE: "bare, Upbit's SIMPLE format",
  ours: 'this project: feeds and latest ticks',
  ccxt: 'ccxt pro `watchTickers`',
}
const START_MS = 10_000
/** How long a whole ingester runs, after its start. */
const SECONDS = 60

/** Measures what a frame costs, beside bare ws and ccxt pro, and what a whole ingester needs. */
export async function streaming({ rounds }: Options): Promise<void> {
  const results: Record<string, { micros: number; mb: number }[]> = {}
  const ingester = await onStage(async t => {
    const exchange = await startExchanges(t)
    for (let round = 0; round < rounds; round++) {
      for (const kind of Object.keys(CONTESTANTS)) {
        const options = { kind, coins: COINS, ...FRAMES, ...exchange }
        const program = startProgram(t, [FRAMES_PROGRAM, JSON.stringify(options)])
        const result = JSON.parse(await program.line(line => line.startsWith('{')))
        results[kind] = [...(results[kind] ?? []), result]
        process.stderr.write('.')
      }
    }
    return measureIngester(t, exchange)
  })
  const micros = (kind: string) => (results[kind] ?? []).map(result => result.micros)
  const ratio = (kind: string) =>
    median(micros(kind).map((value, round) => value / Number(micros('DEFAULT')[round])))
  publish('Streaming', [
    `${COINS} coins, ${FRAMES_PER_SECOND.toLocaleString('en')} frames a second from the simulator in another process, without compression; ${rounds} rounds, each contestant in turn in a fresh process, ${FRAMES.frames.toLocaleString('en')} frames after ${FRAMES.warmUp.toLocaleString('en')} to warm up; medians, ratios within a round.`,
    table(
      ['', 'CPU per frame', '÷ bare', 'resident'],
      Object.entries(CONTESTANTS).map(([kind, name]) => [
        name,
        `${median(micros(kind)).toFixed(1)} µs`,
        ratio(kind).toFixed(2),
        `${median((results[kind] ?? []).map(({ mb }) => mb)).toFixed(0)} MB`,
      ]),
    ),
    `A whole ingester on the same exchanges and a real Redis, for ${SECONDS} s: ${(ingester('process_resident_memory_bytes') / 2 ** 20).toFixed(0)} MB, ${((100 * ingester('process_cpu_seconds_total')) / SECONDS).toFixed(0)} % of a core, the event loop at most ${(1_000 * ingester('nodejs_eventloop_lag_max_seconds')).toFixed(0)} ms late.`,
  ])
}

async function startExchanges(t: Teardown) {
  const tradesPerMinute = ((FRAMES_PER_SECOND - COINS) * 60) / COINS
  const others = Array.from({ length: SYMBOLS - COINS }, (_, n) => ({
    ...{ id: `other-${n}`, price: 1 + n },
    binance: { base: `OTHER${n}`, tradesPerMinute: 1 },
  }))
  const coins = [...syntheticCoins(COINS, tradesPerMinute), ...others]
  const exchanges = await startSimulator({ coins, limits: false, pumpMs: 1 })
  t.teardown(() => exchanges.close())
  const { url, upbitWsUrl, binanceWsUrl } = exchanges
  return { url, upbitWsUrl, binanceWsUrl }
}

/** A real ingester's own metrics, by their names. */
async function measureIngester(t: Teardown, exchanges: Exchanges): Promise<(name: string) => number> {
  const redis = await startRedis(t)
  const port = await freePort()
  const settings = { COINS: 'all', PRICES: 'simulated', BACKFILL_DAYS: '0', REDIS_URL: redis.url }
  startProgram(t, [fileURLToPath(new URL('../../apps/ingester/dist/main.js', import.meta.url))], {
    ...{ ...settings, OPS_PORT: `${port}`, LOG_LEVEL: 'warn' },
    UPBIT_WS_URL: exchanges.upbitWsUrl,
    UPBIT_REST_URL: exchanges.url,
    BINANCE_WS_URL: exchanges.binanceWsUrl,
    BINANCE_REST_URL: exchanges.url,
  })
  const metrics = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  // The start itself is no part of it; what was the longest so far is forgotten by the first reading.
  await delay(START_MS)
  const before = await metrics()
  await delay(1_000 * SECONDS)
  const after = await metrics()
  const read = (text: string, name: string) =>
    Number(new RegExp(`^${name}(?:{.*})? (\\S+)$`, 'm').exec(text)?.[1])
  return name => read(after, name) - (name.endsWith('_total') ? read(before, name) : 0)
}

type Exchanges = Awaited<ReturnType<typeof startExchanges>>
