import { sampleOf } from './fixtures.ts'

/** What both sides of partition.test.ts know of a coin's minute: its price rises by 1,000 won a minute. */
export function turnOf(symbol: string, minute: number) {
  return sampleOf(symbol, minute, 150_000_000 + (minute % 1_440) * 1_000)
}
