import { fraction, keyOf } from './hash.ts'
import type { EpochMs } from './types.ts'

/** A smooth wandering value in about [-1, 1] for any instant, without state. */
export type Walk = (at: EpochMs) => number

/** The three movements from which every price is made. */
export type PriceWalks = ReturnType<typeof priceWalks>

/** A swing's period in milliseconds, and its height. */
type Swing = readonly [period: number, height: number]

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const COIN: readonly Swing[] = [
  [37 * DAY, 0.22],
  [8.3 * DAY, 0.08],
  [1.7 * DAY, 0.035],
  [7.1 * HOUR, 0.014],
  [1.3 * HOUR, 0.005],
  [840_000, 0.002],
  [97_000, 0.0008],
]
const RATE: readonly Swing[] = [
  [29 * DAY, 0.03],
  [2.9 * DAY, 0.008],
  [5.3 * HOUR, 0.002],
  [1_700_000, 0.0007],
]
const COMMON_PREMIUM: readonly Swing[] = [
  [17 * DAY, 0.01],
  [1.9 * DAY, 0.004],
  [3.7 * HOUR, 0.0015],
  [610_000, 0.0004],
]
const COIN_PREMIUM: readonly Swing[] = [
  [5.3 * DAY, 0.003],
  [2.3 * HOUR, 0.001],
]

/** All walks of one seed; the same seed always gives the same prices. */
export function priceWalks(seed: string) {
  const rate = walk(`${seed}/usdt-krw`, RATE)
  const common = walk(`${seed}/premium`, COMMON_PREMIUM)
  return {
    /** Natural logarithm of the coin's USDT price relative to the price around which it wanders. */
    coin: (id: string): Walk => walk(`${seed}/coin/${id}`, COIN),
    /** KRW for one USDT, unrounded, around 1,400. */
    usdtKrw: (at: EpochMs) => 1_400 * (1 + rate(at)),
    /** The coin's premium as a fraction, wandering between about -0.01 and +0.03. */
    premium: (id: string): Walk => {
      const own = walk(`${seed}/premium/${id}`, COIN_PREMIUM)
      return at => 0.01 + common(at) + own(at)
    },
  }
}

/** The sum of swings, each of which begins somewhere. */
function walk(name: string, swings: readonly Swing[]): Walk {
  const waves = swings.map(([period, height], i) => ({ period, height, phase: fraction(keyOf(name), i) }))
  return at =>
    waves.reduce(
      (sum, { period, height, phase }) => sum + height * Math.sin(2 * Math.PI * (at / period + phase)),
      0,
    )
}

/** Follows a walk from minute to minute, in straight lines: a minute has many trades, and a walk is expensive. */
export function byMinutes(walk: Walk): Walk {
  let [minute, from, step] = [Number.NaN, 0, 0]
  return at => {
    const asked = Math.floor(at / MINUTE)
    if (asked !== minute) {
      minute = asked
      from = walk(minute * MINUTE)
      step = walk((minute + 1) * MINUTE) - from
    }
    return from + step * (at / MINUTE - minute)
  }
}
