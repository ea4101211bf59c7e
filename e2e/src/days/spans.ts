import { DAY_MS, type EpochMs, MINUTE_MS } from '@kimchi/core'
import type { Prices } from '@kimchi/simulator'
import { market } from './kinds/kind.ts'
import { RETENTION_DAYS } from './service.ts'

/** A halted coin is back within 150 s of trading again, and its minutes without a known trade are settled. */
const BACK_WITHIN_MS = 2.5 * MINUTE_MS

/** Nothing is judged of what is older. */
const REMEMBERED_MS = (RETENTION_DAYS + 2) * DAY_MS

/**
 * When a market may be held for halted, its frames are lost, or an exchange has no candles or answers no renewal with
 * SNAPSHOTs; or until when minutes may be missing of a market that was delisted and listed again, older ones too.
 */
export interface Span {
  readonly what: 'halt' | 'loss' | 'no candles' | 'no SNAPSHOTs' | 'relisting'
  /** A market; an exchange where it is about all of them. */
  readonly of: string
  readonly from: EpochMs
  /** When the fault is over. */
  readonly to: EpochMs
  /** Minutes after which a coin is off the list. @default it may stay */
  readonly leavesWithin?: number | undefined
}

/** What the faults of a day excuse. */
export function createSpans(clock: { readonly now: EpochMs }, { lastTrade }: Pick<Prices, 'lastTrade'>) {
  let spans: readonly Span[] = []
  const isIn = (at: EpochMs, { from, to }: Span) => from <= at && at <= to + BACK_WITHIN_MS
  const some = (what: Span['what'], of: string, test: (span: Span) => boolean) =>
    spans.some(span => span.what === what && span.of === of && test(span))
  /** docs/exchanges.md#unconfirmed: where no renewal is answered a halt lasts until the market trades. */
  const isAfterHalt = (of: string, at: EpochMs, { to }: Span) =>
    to <= at &&
    (lastTrade('upbit', of, at)?.at ?? 0) < to &&
    some('no SNAPSHOTs', 'upbit', span => span.from - BACK_WITHIN_MS <= to && to < span.to && isIn(at, span))
  return {
    add(span: Span): void {
      spans = [...spans.filter(({ to }) => to > clock.now - REMEMBERED_MS), span]
    },
    isLost: (of: string, at: EpochMs) => some('loss', of, span => isIn(at, span)),
    /** Whether a coin may lack a minute. */
    mayLack(symbol: string, at: EpochMs): boolean {
      const [upbit, binance] = [market('upbit', symbol), market('binance', symbol)]
      const tradedAt = lastTrade('binance', binance, at)?.at ?? 0
      return (
        some('no candles', 'binance', ({ from, to }) => from <= at && tradedAt < to) ||
        some('halt', upbit, span => isIn(at, span) || isAfterHalt(upbit, at, span)) ||
        some('halt', binance, span => isIn(at, span)) ||
        [upbit, binance].some(of => some('relisting', of, span => isIn(Math.max(at, clock.now), span)))
      )
    },
    /** Whether a coin is off the list after all that time. @param calmAt from then on, where that is later */
    hasLeft: (symbol: string, calmAt: EpochMs) =>
      spans.some(({ of, from, to, leavesWithin = Number.POSITIVE_INFINITY }) => {
        const leftAt = Math.max(from + MINUTE_MS, calmAt) + leavesWithin * MINUTE_MS
        const isOf = of === market('upbit', symbol) || of === market('binance', symbol)
        return isOf && leftAt < clock.now && clock.now < to
      }),
  }
}
