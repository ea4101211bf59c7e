import { fraction, keyOf } from './hash.ts'
import type { EpochMs } from './types.ts'

/** A smooth wandering value in about [-1, 1] for any instant, without state. */
export type Walk = (at: EpochMs) => number

/** The three movements from which every price is made. */
export type PriceWalks = ReturnType<typeof priceWalks>

/** A period in milliseconds, and how high it swings. */
type Swing = readonly [period: number, height: number]

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Heights are shares of the largest. */
const SWINGS: readonly Swing[] = [
  [29 * DAY, 1],
  [2.9 * DAY, 0.3],
  [5.3 * HOUR, 0.08],
  [1_700_000, 0.025],
  [97_000, 0.004],
]

/** All walks of one seed; the same seed always gives the same prices. */
export function priceWalks(seed: string) {
  const rate = walk(`${seed}/usdt-krw`, 0.03)
  const common = walk(`${seed}/premium`, 0.01)
  return {
    /** Natural logarithm of the coin's USDT price relative to the price around which it wanders. */
    coin: (id: string): Walk => walk(`${seed}/coin/${id}`, 0.22),
    /** KRW for one USDT, unrounded, around 1,400. */
    usdtKrw: (at: EpochMs) => 1_400 * (1 + rate(at)),
    /** The coin's premium as a fraction, wandering between about -0.01 and +0.03. */
    premium: (id: string): Walk => {
      const own = walk(`${seed}/premium/${id}`, 0.003)
      return at => 0.01 + common(at) + own(at)
    },
  }
}

/** The sum of all swings, each of which begins somewhere. @param largest height of the largest */
function walk(name: string, largest: number): Walk {
  const waves = SWINGS.map(([period, height], i) => ({ period, height, phase: fraction(keyOf(name), i) }))
  return at =>
    waves.reduce(
      (sum, { period, height, phase }) =>
        sum + largest * height * Math.sin(2 * Math.PI * (at / period + phase)),
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
