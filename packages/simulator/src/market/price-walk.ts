import { hash, keyOf } from './hash.ts'
import type { EpochMs } from './types.ts'

/** A smooth wandering value in about [-1, 1] for any instant, without state. */
export type Walk = (at: EpochMs) => number

/** The three movements from which every price is made. */
export type PriceWalks = ReturnType<typeof priceWalks>

/** A swing's period in milliseconds, and its height. */
type Octave = readonly [period: number, height: number]

const HOUR = 3_600_000
const DAY = 24 * HOUR

const COIN: readonly Octave[] = [
  [37 * DAY, 0.22],
  [8.3 * DAY, 0.08],
  [1.7 * DAY, 0.035],
  [7.1 * HOUR, 0.014],
  [1.3 * HOUR, 0.005],
  [840_000, 0.002],
  [97_000, 0.0008],
]
const RATE: readonly Octave[] = [
  [29 * DAY, 0.03],
  [2.9 * DAY, 0.008],
  [5.3 * HOUR, 0.002],
  [1_700_000, 0.0007],
]
const COMMON_PREMIUM: readonly Octave[] = [
  [17 * DAY, 0.01],
  [1.9 * DAY, 0.004],
  [3.7 * HOUR, 0.0015],
  [610_000, 0.0004],
]
const COIN_PREMIUM: readonly Octave[] = [
  [5.3 * DAY, 0.003],
  [2.3 * HOUR, 0.001],
]

/** All walks of one seed; the same seed always gives the same prices. */
export function priceWalks(seed: string) {
  const rate = noise(keyOf(`${seed}/usdt-krw`), RATE)
  const common = noise(keyOf(`${seed}/premium`), COMMON_PREMIUM)
  return {
    /** Natural logarithm of the coin's USDT price relative to its base price. */
    coin: (id: string): Walk => noise(keyOf(`${seed}/coin/${id}`), COIN),
    /** KRW for one USDT, unrounded, around 1,400. */
    usdtKrw: (at: EpochMs) => 1_400 * (1 + rate(at)),
    /** The coin's premium as a fraction, wandering between about -0.01 and +0.03. */
    premium: (id: string): Walk => {
      const own = noise(keyOf(`${seed}/premium/${id}`), COIN_PREMIUM)
      return at => 0.01 + common(at) + own(at)
    },
  }
}

function noise(key: number, octaves: readonly Octave[]): Walk {
  const waves = octaves.map((octave, i) => valueNoise(hash(key, i), octave))
  return at => waves.reduce((sum, wave) => sum + wave(at), 0)
}

/** One octave: random values one period apart, joined by a curve whose slope is continuous. */
function valueNoise(key: number, [period, height]: Octave): Walk {
  let [cell, from, step] = [Number.NaN, 0, 0]
  return at => {
    const asked = Math.floor(at / period)
    // Nearly always the period that was asked for last.
    if (asked !== cell) {
      cell = asked
      from = levelAt(key, cell) * height
      step = levelAt(key, cell + 1) * height - from
    }
    const t = at / period - cell
    return from + step * (t * t * (3 - 2 * t))
  }
}

function levelAt(key: number, cell: number): number {
  return hash(key, cell) / 2_147_483_648 - 1
}
