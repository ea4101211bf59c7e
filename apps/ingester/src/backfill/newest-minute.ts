import {
  type EpochMinute,
  formatTimestamp,
  KimchiError,
  type Milliseconds,
  REFERENCE_MARKETS,
} from '@kimchi/core'
import { type FetchPage, PAGE_MINUTES } from './candle-book.ts'

/** A candle is read this long after its end at the earliest. @see docs/exchanges.md#unconfirmed */
export const CANDLE_GRACE_MS: Milliseconds = 10_000

/**
 * The newest minute whose candles are complete by the exchange's own word: Binance has opened the next candle
 * of the market that always trades. A machine whose clock is ahead must neither take an open candle for a
 * whole one nor settle minutes that are yet to come.
 * @param ours the newest minute that may be complete by our clock
 * @throws KimchiError `KIMCHI_ERR_REST` when Binance has no candle near the present by our clock
 */
export async function findNewestMinute(ours: EpochMinute, fetchPage: FetchPage): Promise<EpochMinute> {
  const [reference = ''] = REFERENCE_MARKETS.binance
  const opens = { start: ours + 1 - PAGE_MINUTES.binance, end: ours + 1 }
  const { candles } = await fetchPage('binance', reference, opens)
  const open = candles.at(-1)?.[0]
  if (open === undefined) {
    const message = `binance has no ${reference} candle in the ${PAGE_MINUTES.binance} minutes before ${formatTimestamp(ours)}; is this machine's clock right?`
    throw new KimchiError('KIMCHI_ERR_REST', message)
  }
  return open >= ours ? ours : open - 1
}
