import { setTimeout as delay } from 'node:timers/promises'
import { type EpochMinute, type EpochMs, MINUTE_MS, minuteOf, minuteStart } from '@kimchi/core'
import { createManualClock } from '@kimchi/core/testing'
import { type SimulatedCoin, type Simulator, startSimulator } from '@kimchi/simulator'
import { audit, eventually, startRedis, untilIdle } from '@kimchi/testkit'
import t from 'tap'
import { readConfig } from '../src/config.ts'
import { type Ingester, startIngester } from '../src/start.ts'
import { silent, YESTERDAY } from './support/backfill-bench.ts'
import { closeByClock } from './support/lockstep.ts'

/** Divides a minute, and is below the three seconds that make a silence. */
const STEP_MS = 2_000
const STEPS_A_MINUTE = MINUTE_MS / STEP_MS
/** From shortly before eleven in the evening until ten to two in the morning, over the turn of the day. */
const FROM = YESTERDAY - 65
const TO = YESTERDAY + 110

const COINS = ['BTC', 'ETH', 'QUIET']

/**
 * As few trades as make no silence, so that the hours pass quickly; QUIET trades every ten minutes on Upbit.
 */
const SIMULATED: readonly SimulatedCoin[] = [
  simulated('BTC', 86_000, 90, 90),
  simulated('ETH', 2_900, 45, 45),
  simulated('QUIET', 0.25, 0.1, 1),
  {
    id: 'USDT',
    price: 1,
    stable: true,
    upbit: { asset: 'USDT', koreanName: '', englishName: 'Tether', tradesPerMinute: 45 },
  },
]

const at = (minute: EpochMinute): EpochMs => minuteStart(YESTERDAY + minute)

t.test('hours with outages of everything, and every minute and day row is true', async t => {
  const random = lcg(20_261_121)
  const between = (low: number, high: number) => low + Math.floor(random() * (high - low))
  const wholeSteps = (fewestMinutes: number, mostMinutes: number) =>
    between(fewestMinutes * STEPS_A_MINUTE, mostMinutes * STEPS_A_MINUTE) * STEP_MS
  /** A stretch of that many minutes that begins early in a half hour, counted from the turn of the day. */
  const stretch = (halfHour: number, shortest: number, longest: number) => {
    const from = at(halfHour * 30) + wholeSteps(0, 12)
    return { from, to: from + wholeSteps(shortest, longest) }
  }
  const clock = createManualClock(minuteStart(FROM))
  let requests = 0
  const simulator = await startSimulator({
    coins: SIMULATED,
    seed: 'truth',
    clock,
    pumpMs: 0,
    limits: false,
    onRequest: () => requests++,
  })
  t.teardown(() => simulator.close())
  const redis = await startRedis(t, { appendonly: true })
  const raw = redis.client()

  const running = new Map<string, Ingester>()
  const start = async (id: string) => {
    const config = readConfig({
      COINS: COINS.join(),
      PRICES: 'simulated',
      BACKFILL_DAYS: '1',
      OPS_PORT: '0',
      REDIS_URL: redis.url,
      ...simulator.env,
    })
    const ingester = await startIngester(config, { log: silent, clock, random, id, version: 'test' })
    ingester.failed.catch(thrown => t.fail(`ingester ${id} failed: ${thrown}`))
    running.set(id, ingester)
  }
  const stop = async (id: string) => {
    const ingester = running.get(id)
    running.delete(id)
    // What an end waits for hangs on the clock as well; a step of it is too short to matter.
    if (ingester !== undefined) await closeByClock(clock, ingester, 1)
    await clock.advance((STEP_MS - (clock.now() % STEP_MS)) % STEP_MS)
  }
  t.teardown(async () => {
    for (const id of [...running.keys()]) await stop(id)
  })

  const events: { readonly at: EpochMs; readonly run: () => unknown }[] = []
  const away = (span: { from: EpochMs; to: EpochMs }, off: () => unknown, on: () => unknown) => {
    events.push({ at: span.from, run: off }, { at: span.to, run: on })
  }
  const fault = (span: { from: EpochMs; to: EpochMs }, set: Parameters<Simulator['faults']['set']>[0]) => {
    events.push({ at: span.from, run: () => simulator.faults.set({ ...set, forMs: span.to - span.from }) })
  }
  fault({ from: at(-2), to: at(3) }, { kind: 'outage', exchange: 'binance' })
  fault(stretch(-2, 2, 20), { kind: 'outage', exchange: 'upbit' })
  fault(stretch(1, 61, 65), { kind: 'outage', exchange: 'upbit' })
  const unwritten = stretch(-2, 2, 10)
  fault(unwritten, { kind: 'outage', exchange: 'binance', klines: 'none' })
  // Sockets that break while the exchange goes on: it refuses handshakes, or says nothing.
  fault(stretch(-1, 1, 5), { kind: 'drop', exchange: 'upbit' })
  fault(stretch(1, 1, 5), { kind: 'drop', exchange: 'binance' })
  fault(stretch(-1, 1, 3), { kind: 'silence', exchange: 'upbit' })
  fault(stretch(0, 1, 3), { kind: 'silence', exchange: 'binance' })
  away(
    stretch(-2, 5, 15),
    () => redis.stop(),
    () => redis.restart(),
  )
  away(
    stretch(0, 2, 20),
    () => redis.kill(),
    () => redis.restart(),
  )
  away(
    stretch(-2, 10, 30),
    () => stop('a'),
    () => start('a'),
  )
  away(
    stretch(1, 10, 30),
    () => stop('b'),
    () => start('b'),
  )
  away(
    stretch(1, 20, 30),
    () => stop('a'),
    () => start('a'),
  )
  events.sort((a, b) => a.at - b.at)

  const step = async () => {
    await clock.advance(STEP_MS)
    simulator.pump()
    while (events[0] !== undefined && events[0].at <= clock.now()) await events.shift()?.run()
    await untilIdle()
  }
  await start('a')
  await start('b')
  await eventually('both have their coins', () => simulator.connections('binance') === 2)
  while (clock.now() < minuteStart(TO)) await step()

  // Binance writes no candle of the minute in which it is back, unless the coin trades in the rest of it: what
  // the streams miss of that minute is a gap.
  const halted = (_: string, at: EpochMs) => minuteOf(at) === minuteOf(unwritten.to) + 1
  const look = () =>
    audit({
      redis: raw,
      truth: { ...simulator, halted },
      coins: COINS,
      from: FROM + 1,
      to: TO,
    })
  for (let tries = 0; (await look()).lost > 0 && tries < 100; tries++) {
    for (let steps = 0; steps < STEPS_A_MINUTE; steps++) await step()
    await delay(20)
  }
  const verdict = await look()
  t.strictSame(verdict.findings, [])
  t.match(verdict, { lost: 0, doubled: 0, wrong: 0 })
  t.comment(`${verdict.live} live, ${verdict.candle} from candles, ${requests} REST requests`)
  t.ok(verdict.live > 170 && verdict.candle > 50, 'both ways were taken')
})

function simulated(id: string, price: number, upbit: number, binance: number): SimulatedCoin {
  return {
    id,
    price,
    upbit: { asset: id, koreanName: '', englishName: id, tradesPerMinute: upbit },
    binance: { asset: id, tradesPerMinute: binance },
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
