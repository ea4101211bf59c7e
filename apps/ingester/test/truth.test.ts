import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { type Coin, type EpochMinute, type EpochMs, minuteStart, premiumE4, RATE_MARKET } from '@kimchi/core'
import { createManualClock } from '@kimchi/core/testing'
import { createLogger } from '@kimchi/runtime'
import { type SentFrame, type SimulatedCoin, startSimulator } from '@kimchi/simulator'
import { createReader, openRedis } from '@kimchi/store'
import { startRedis } from '@kimchi/testkit'
import t from 'tap'
import { readConfig } from '../src/config.ts'
import { type Ingester, startIngester } from '../src/start.ts'
import { truthOf } from './support/audit.ts'
import { YESTERDAY } from './support/backfill-bench.ts'
import { openRestGate } from './support/rest-gate.ts'
import { until } from './support/waiting.ts'
import { type Outage, worldOf } from './support/world.ts'

/** Divides a minute, and is well below the three seconds that make a silence. */
const STEP_MS = 1_500
const FROM = YESTERDAY - 10
/** A day of half the length: long enough for every outage to end. */
const MINUTES = 720
const TO = YESTERDAY + MINUTES + 10

const COINS: readonly Coin[] = ['BTC', 'ETH', 'QUIET'].map(symbol => ({
  symbol,
  name: symbol,
  upbit: `KRW-${symbol}`,
  binance: `${symbol}USDT`,
}))

/** As few trades as make no silence, so that a day passes quickly; QUIET trades every ten minutes on Upbit. */
const SIMULATED: readonly SimulatedCoin[] = [
  simulated('BTC', 86_000, 90, 90),
  simulated('ETH', 2_900, 45, 45),
  simulated('QUIET', 0.25, 0.1, 1),
  {
    id: 'USDT',
    price: 1,
    stable: true,
    upbit: { base: 'USDT', koreanName: '', englishName: 'Tether', tradesPerMinute: 45 },
  },
]

const at = (minute: EpochMinute): EpochMs => minuteStart(YESTERDAY + minute)

// About forty seconds on an idle machine; other tests may run beside it.
t.setTimeout(300_000)

t.test('half a day with outages of everything, and every minute and day row is true', async t => {
  const random = lcg(20_261_121)
  const between = (low: number, high: number) => low + Math.floor(random() * (high - low))
  /** A stretch of whole steps, so many minutes long, that begins anywhere within one of 24 parts. */
  const stretch = (part: number, shortest: number, longest: number) => {
    const from = at((part * MINUTES) / 24) + between(0, 600) * STEP_MS
    return { from, to: from + between(shortest * 40, longest * 40) * STEP_MS }
  }
  const outages: Outage[] = [
    { exchange: 'binance', from: at(-2), to: at(3) },
    { exchange: 'upbit', ...stretch(3, 2, 25) },
    { exchange: 'binance', ...stretch(6, 2, 25) },
    { exchange: 'upbit', ...stretch(14, 70, 80) },
    { exchange: 'binance', ...stretch(18, 2, 10) },
    { exchange: 'upbit', ...stretch(18, 5, 15) },
    { exchange: 'upbit', from: at(MINUTES - 2), to: at(MINUTES + 2) },
  ]
  const clock = createManualClock(minuteStart(FROM))
  const record = frameRecord()
  const simulator = await startSimulator({
    coins: SIMULATED,
    seed: 'truth',
    clock: { now: () => clock.now(), every: () => () => {} },
    pumpMs: 0,
    limits: false,
    onFrame: record.take,
  })
  t.teardown(() => simulator.close())
  const gate = await openRestGate(t, simulator)
  gate.outages = outages
  gate.missing = outages.slice(2, 3)
  gate.now = () => clock.now()
  const testRedis = await startRedis(t, { appendonly: true })
  const redis = openRedis(testRedis.url, { name: 'audit' })
  t.teardown(() => redis.close())
  const reader = createReader({ redis })

  const running = new Map<string, Ingester>()
  const start = async (id: string) => {
    const config = readConfig({
      COINS: COINS.map(({ symbol }) => symbol).join(),
      PRICES: 'simulated',
      BACKFILL_DAYS: '1',
      OPS_PORT: '0',
      REDIS_URL: testRedis.url,
      UPBIT_WS_URL: simulator.upbitWsUrl,
      UPBIT_REST_URL: gate.url,
      BINANCE_WS_URL: simulator.binanceWsUrl,
      BINANCE_REST_URL: gate.url,
    })
    const log = createLogger('test', 'silent')
    const ingester = await startIngester(config, { log, clock, random, id, version: 'test' })
    ingester.failed.catch(thrown => t.fail(`ingester ${id} failed: ${thrown}`))
    running.set(id, ingester)
  }
  const stop = async (id: string) => {
    let isClosed = false
    const closing = running
      .get(id)
      ?.close()
      .finally(() => {
        isClosed = true
      })
    running.delete(id)
    // What an end waits for hangs on the clock as well; a step of it is too short to matter.
    while (closing !== undefined && !isClosed) {
      await clock.advance(1)
      await turn()
    }
    await clock.advance((STEP_MS - (clock.now() % STEP_MS)) % STEP_MS)
  }
  t.teardown(async () => {
    for (const id of [...running.keys()]) await stop(id)
  })

  const events: { readonly at: EpochMs; readonly run: () => unknown }[] = []
  for (const { exchange, from, to } of outages) {
    let undo = () => {}
    events.push({
      at: from,
      run: () => {
        undo = simulator.faults.set({ kind: 'silence', exchange })
      },
    })
    events.push({ at: to, run: () => undo() })
  }
  const away = (part: number, shortest: number, longest: number, off: () => unknown, on: () => unknown) => {
    const { from, to } = stretch(part, shortest, longest)
    events.push({ at: from, run: off }, { at: to, run: on })
  }
  // Sockets that break without a hole in the past: a lost connection, an exchange that refuses handshakes.
  for (const [part, exchange] of [
    [1, 'upbit'],
    [5, 'binance'],
    [11, 'upbit'],
    [20, 'binance'],
  ] as const) {
    const { from, to } = stretch(part, 1, 10)
    events.push({ at: from, run: () => simulator.faults.set({ kind: 'drop', exchange, forMs: to - from }) })
  }
  away(
    2,
    5,
    15,
    () => testRedis.stop(),
    () => testRedis.restart(),
  )
  away(
    13,
    2,
    30,
    () => testRedis.kill(),
    () => testRedis.restart(),
  )
  away(
    22,
    5,
    20,
    () => testRedis.stop(),
    () => testRedis.restart(),
  )
  away(
    4,
    10,
    60,
    () => stop('a'),
    () => start('a'),
  )
  away(
    8,
    10,
    60,
    () => stop('b'),
    () => start('b'),
  )
  away(
    9,
    30,
    45,
    () => stop('a'),
    () => start('a'),
  )
  away(
    16,
    60,
    100,
    () => stop('b'),
    () => start('b'),
  )
  away(
    17,
    10,
    20,
    () => stop('a'),
    () => start('a'),
  )
  events.sort((a, b) => a.at - b.at)

  let lively = 0
  let connections = ''
  const step = async () => {
    await clock.advance(STEP_MS)
    simulator.pump()
    while (events[0] !== undefined && events[0].at <= clock.now()) await events.shift()?.run()
    for (let turns = 0; turns < 4; turns++) await turn()
    // Handshakes and seeds travel in real time: the clock goes slower while connections come and go.
    const now = `${simulator.connections('upbit')} ${simulator.connections('binance')}`
    if (now !== connections || now !== `${running.size} ${running.size}`) lively = 5
    connections = now
    if (lively-- > 0) await delay(2)
  }
  await start('a')
  await start('b')
  await until('both have their coins', () => simulator.connections('binance') === 2)
  while (clock.now() < minuteStart(TO)) await step()

  const world = worldOf(simulator.prices, outages)
  const missing = async () => {
    let count = 0
    for (const coin of COINS) {
      for (const range of await reader.readMissing(coin.symbol, YESTERDAY, YESTERDAY + MINUTES)) {
        for (let minute = range.start; minute < range.end; minute++) {
          if (typeof truthOf(world, coin, minute) !== 'string') count += 1
        }
      }
    }
    return count
  }
  const giveUpAt = Date.now() + 60_000
  while ((await missing()) > 0 && Date.now() < giveUpAt) {
    for (let steps = 0; steps < 20; steps++) await step()
    await delay(20)
  }

  const total = { live: 0, candle: 0, gaps: 0 }
  const wrong: string[] = []
  for (const coin of COINS) {
    const { entries, corrupt } = await reader.readSamples(coin.symbol, YESTERDAY, YESTERDAY + MINUTES)
    t.equal(corrupt, 0)
    const stored = new Map(entries.map(sample => [sample.minute, sample]))
    const premiums: number[] = []
    for (let minute = YESTERDAY; minute < YESTERDAY + MINUTES; minute++) {
      const truth = truthOf(world, coin, minute)
      const sample = stored.get(minute)
      const name = `${coin.symbol} ${new Date(minuteStart(minute)).toISOString()}`
      // The simulator can be silenced but not kept from trading: after an outage, a SNAPSHOT may show a trade of a quiet coin that
      // candles don't have. A live sample of it is true to what was sent.
      const isSent = truth === 'unknown' && sample?.source === 'live'
      if (typeof truth === 'string' && !isSent) {
        total.gaps += 1
        if (sample !== undefined) wrong.push(`${name}: a ${sample.source} sample although ${truth}`)
        continue
      }
      if (sample === undefined) {
        wrong.push(`${name}: missing`)
        continue
      }
      total[sample.source] += 1
      const { upbitKrw, binanceUsdt, usdtKrw } = sample
      const closes = typeof truth === 'string' ? [Number.NaN, Number.NaN, Number.NaN] : truth
      const [krw = 0, usdt = 0, rate = 0] =
        sample.source === 'candle'
          ? closes
          : ([
              record.before(coin.upbit, minute) ?? closes[0],
              [record.before(coin.binance, minute), closes[1]].find(price => price === binanceUsdt) ??
                closes[1],
              record.before(RATE_MARKET, minute) ?? closes[2],
            ] as const)
      const expected = premiumE4(krw, usdt, rate)
      premiums.push(expected)
      if (upbitKrw !== krw || binanceUsdt !== usdt || usdtKrw !== rate || sample.premiumE4 !== expected) {
        wrong.push(
          `${name}: ${sample.source} ${[upbitKrw, binanceUsdt, usdtKrw]}, must be ${[krw, usdt, rate]}`,
        )
      }
    }
    const rest = await reader.readSamples(coin.symbol, YESTERDAY + MINUTES, YESTERDAY + 1_440)
    premiums.push(...rest.entries.map(sample => sample.premiumE4))
    const { entries: days } = await reader.readDays(coin.symbol)
    t.match(
      days.find(day => day.firstMinute >= YESTERDAY && day.lastMinute < YESTERDAY + 1_440),
      {
        open: premiums[0],
        high: Math.max(...premiums),
        low: Math.min(...premiums),
        close: premiums.at(-1),
        sum: premiums.reduce((sum, premium) => sum + premium, 0),
        samples: premiums.length,
      },
      `the day row of ${coin.symbol}`,
    )
  }
  t.strictSame(wrong, [])
  t.comment(`${total.live} live, ${total.candle} from candles, ${total.gaps} gaps while an exchange was down`)
  t.comment(`${record.count()} frames, ${gate.requests.length} REST requests`)
  t.ok(total.live > 1_000 && total.candle > 100, 'both ways were taken')
  t.ok(total.gaps < 500)
})

function simulated(id: string, price: number, upbit: number, binance: number): SimulatedCoin {
  return {
    id,
    price,
    upbit: { base: id, koreanName: '', englishName: id, tradesPerMinute: upbit },
    binance: { base: id, tradesPerMinute: binance },
  }
}

/** Remembers, of each market and minute, the last price that any connection was sent with an event time before the minute's end. */
function frameRecord() {
  const markets = new Map<string, Map<EpochMinute, { at: EpochMs; price: number }>>()
  let count = 0
  return {
    count: () => count,
    take: ({ exchange, market, text }: SentFrame) => {
      count += 1
      if (market === undefined) return
      const frame = JSON.parse(text)
      const [eventAt, price] =
        exchange === 'upbit' ? [frame.ttms, frame.tp] : [frame.data.E, Number(frame.data.c)]
      const minutes = markets.get(market) ?? new Map()
      markets.set(market, minutes)
      const minute = Math.floor(eventAt / 60_000)
      if (eventAt >= (minutes.get(minute)?.at ?? 0)) minutes.set(minute, { at: eventAt, price })
    },
    before: (market: string, minute: EpochMinute): number | undefined => {
      const minutes = markets.get(market)
      for (let back = 1; back <= 61; back++) {
        const found = minutes?.get(minute - back)
        if (found !== undefined) return found.price
      }
      return undefined
    },
  }
}

/** A sequence that is the same on every run. */
function lcg(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}
