import { type EpochMinute, type Gap, type GapReason, RATE_MARKET, type Sample } from '@kimchi/core'
import type { MinuteReport } from '../minute/minute-loop.ts'
import type { QuarantineStatus } from './quarantine.ts'

/** A coin whose newest row is this many minutes old or older lacks two in a row. */
const TOLD_AFTER_MINUTES = 2

/** With fewer implausible coins than this, they are as likely to be wrong as the rate. */
const FEWEST_FOR_RATE = 3

/** What keeps a coin from a sample, in words. Reasons that are absent here stop all coins: none is named for them. */
const WORDS: Readonly<Partial<Record<GapReason, string>>> = {
  halted: 'an exchange has halted it',
  halting: 'an exchange has halted it',
  'no-upbit-price': 'its Upbit price is unknown, or of more than 60 minutes ago',
  'no-binance-price': 'its Binance price is unknown, or of more than 60 minutes ago',
  implausible: 'its prices differ too much for one coin',
  impossible: 'its prices can be those of no pair',
}

const UNCOMPARED = 'it is new, and fewer than half of all pairs have a premium to compare with'

/** What is held back, and why. */
export interface Held {
  /** The coin's, or the rate's market where the rate holds back most coins. */
  readonly symbol: string
  readonly reason: GapReason | 'quarantined' | 'rate'
  /** The reason in words, and the prices that led to it; a part of a sentence. */
  readonly text: string
}

/** Coins whose newest row is two minutes old or older although nothing holds back all of them. */
export class CoinsWithoutRows {
  /** The newest minute of each coin that was stored; of one without, that before the first report. */
  #newest = new Map<string, EpochMinute>()
  #held: readonly Held[] = []

  /** Hears of samples that were stored, live or from candles. */
  noteStored(samples: readonly Pick<Sample, 'symbol' | 'minute'>[]): void {
    for (const { symbol, minute } of samples)
      this.#newest.set(symbol, Math.max(minute, this.#newest.get(symbol) ?? minute))
  }

  /** Takes a minute's report, and finds the coins without a recent row. */
  noteMinute(
    { minute, samples, gaps }: Omit<MinuteReport, 'lateMs'>,
    quarantined: QuarantineStatus['quarantined'],
  ): void {
    this.noteStored(samples)
    const found = new Map<string, Held>()
    const add = (symbol: string, reason: Held['reason'], text: string) =>
      found.set(symbol, { symbol, reason, text })
    const isGap = new Set(gaps.map(({ symbol }) => symbol))
    for (const { symbol, reason, prices } of gaps) {
      const words = WORDS[reason]
      if (words !== undefined) add(symbol, reason, `${words}, ${pricesText(prices)}`)
    }
    for (const { symbol, reason } of quarantined)
      if (reason !== undefined || !isGap.has(symbol)) add(symbol, 'quarantined', reason ?? UNCOMPARED)
    const present = [...found.keys(), ...[...samples, ...gaps].map(({ symbol }) => symbol)]
    this.#newest = new Map(present.map(symbol => [symbol, this.#newest.get(symbol) ?? minute - 1]))
    const isOld = ({ symbol }: Held) => minute - (this.#newest.get(symbol) ?? minute) >= TOLD_AFTER_MINUTES
    this.#held = withRate([...found.values()].filter(isOld), gaps, samples.length)
  }

  /** Coins that an operator can do something about come first. */
  status(): readonly Held[] {
    return this.#held.toSorted((a, b) => Number(mayBeAllowed(b)) - Number(mayBeAllowed(a)))
  }
}

/** Whether `ALLOW` would publish it. */
export function mayBeAllowed({ reason }: Held): boolean {
  return reason === 'implausible' || reason === 'quarantined'
}

/** Names the rate in place of the coins, where most are implausible at once. */
function withRate(held: readonly Held[], gaps: readonly Gap[], samples: number): readonly Held[] {
  const implausible = held.filter(({ reason }) => reason === 'implausible')
  if (implausible.length < FEWEST_FOR_RATE || implausible.length <= samples) return held
  const rate = gaps.find(({ reason }) => reason === 'implausible')?.prices?.[RATE_MARKET]
  const text = `${RATE_MARKET} at ${rate} makes the premiums of most coins implausible`
  return [{ symbol: RATE_MARKET, reason: 'rate', text }, ...held.filter(each => !implausible.includes(each))]
}

function pricesText(prices: Gap['prices'] = {}): string {
  return Object.entries(prices)
    .map(([market, price]) => `${market} at ${price ?? 'no known price'}`)
    .join(', ')
}
