import type { Coin, Context, EpochMinute, Milliseconds } from '@kimchi/core'
import { messageOf } from '@kimchi/core'
import { type CandleBook, createCandleBook, type FetchPage } from './candle-book.ts'
import { isRefusal } from './candle-requests.ts'
import { type Decided, decideMinutes } from './decide-minutes.ts'
import type { SkippedDays } from './skipped-days.ts'

/** Coins in work at once. */
const COINS_AT_ONCE = 8

/** A coin whose candles go on failing is left out after these attempts more. */
const RETRY_MS: readonly Milliseconds[] = [5_000, 20_000, 60_000]

/** Minutes of one coin that are decided in one go, ascending. */
export interface ImportWindow {
  readonly coin: Coin
  readonly minutes: readonly EpochMinute[]
}

/** What is done with windows. */
export interface ImportWindowsOptions {
  readonly fetchPage: FetchPage
  readonly skipped: SkippedDays
  /** Asked before each window; false ends the work. */
  readonly mayGoOn: () => Promise<boolean>
  readonly store: (window: ImportWindow, decided: Decided, book: CandleBook) => Promise<void>
  readonly onDone: (window: ImportWindow) => void
  /** What ends the whole import instead of one coin. */
  readonly isFinal: (thrown: unknown) => boolean
}

/**
 * Decides and stores windows, newest first over all coins, several coins at once. A coin that its exchanges
 * refuse is left out with the reason; it holds up nobody.
 * @throws what {@link ImportWindowsOptions.store} throws
 */
export async function importWindows(
  windows: readonly ImportWindow[],
  options: ImportWindowsOptions,
  context: Context,
): Promise<void> {
  const { skipped, mayGoOn, store, onDone, fetchPage } = options
  const waiting = windows.toSorted((a, b) => (b.minutes.at(-1) ?? 0) - (a.minutes.at(-1) ?? 0))
  const book = createCandleBook(fetchPage)
  const busy = new Map<string, Promise<void>>()
  const run = async (window: ImportWindow) => {
    const { coin, minutes } = window
    const decided = skipped.isEnded(coin.symbol) ? undefined : await decide(window, book, options, context)
    if (decided === undefined) skipped.addRest(coin.symbol, minutes)
    else await store(window, decided, book)
    for (const market of [coin.upbit, coin.binance]) book.leave(market, (minutes[0] ?? 0) - 1)
    onDone(window)
  }
  while (await mayGoOn()) {
    const index = busy.size < COINS_AT_ONCE ? waiting.findIndex(({ coin }) => !busy.has(coin.symbol)) : -1
    const [next] = index < 0 ? [] : waiting.splice(index, 1)
    if (next === undefined && busy.size === 0) break
    if (next === undefined) await Promise.race(busy.values())
    else {
      const { symbol } = next.coin
      busy.set(
        symbol,
        run(next).finally(() => busy.delete(symbol)),
      )
    }
  }
  await Promise.all(busy.values())
}

/** Undefined for a coin that is not available. */
async function decide(
  { coin, minutes }: ImportWindow,
  book: CandleBook,
  { skipped, isFinal }: ImportWindowsOptions,
  { clock, signal, log }: Context,
): Promise<Decided | undefined> {
  for (let failures = 0; ; failures++) {
    try {
      return await decideMinutes(coin, minutes, minutes[0] ?? 0, book)
    } catch (thrown) {
      if (signal.aborted || isFinal(thrown)) throw thrown
      const waitMs = isRefusal(thrown) ? undefined : RETRY_MS[failures]
      const reason = messageOf(thrown)
      log.warn(
        { reason: `${coin.symbol}: ${reason}` },
        waitMs === undefined ? 'coin left out' : 'will be tried again',
      )
      if (waitMs === undefined) {
        skipped.end(coin.symbol, reason)
        return undefined
      }
      await clock.wait(waitMs, signal)
    }
  }
}
