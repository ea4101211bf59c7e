import type { Simulator } from '@kimchi/simulator'

/**
 * Won prices of a quarter of an hour, minute by minute, as factors of those before: a crash like that of
 * 2024-12-03, the rate in it, and one coin that rises as others did; docs/coins.md#4-the-range-of-a-sample.
 */
const FACTORS: Readonly<Record<string, readonly number[]>> = {
  BTC: [0.93, 0.8, 0.67, 0.7, 0.79, 0.85, 0.94, 0.97, 0.99, 1],
  ETH: [0.91, 0.74, 0.62, 0.65, 0.77, 0.88, 0.93, 0.98, 1, 1],
  XRP: [0.84, 0.57, 0.38, 0.47, 0.69, 0.81, 0.9, 0.94, 0.98, 1],
  DOGE: [0.88, 0.66, 0.51, 0.63, 0.79, 0.86, 0.92, 0.97, 1, 1],
  LINK: [1.2, 1.55, 1.98, 2.3, 2.26, 2.05, 1.52, 1.21, 1.08, 1],
  USDT: [0.98, 0.93, 0.85, 0.88, 0.94, 1.02, 1.16, 1.08, 1.01, 1],
}

export const WILD_MINUTES = 10

/** Lets Upbit's prices move so from now on. @param from the simulator's time */
export function beginWildQuarter({ faults }: Pick<Simulator, 'faults'>, from: number): void {
  const move = { kind: 'price', exchange: 'upbit', isTrue: true, forMs: WILD_MINUTES * 60_000 } as const
  for (const [symbol, factors] of Object.entries(FACTORS)) {
    const factor = (at: number) => factors[Math.floor((at - from) / 60_000)] ?? 1
    faults.set({ ...move, market: `KRW-${symbol}`, factor })
  }
}
