import { ApiError, type Client, type History } from '@kimchi/client'
import { useEffect, useState } from 'preact/hooks'
import type { Shelf } from '../storage.ts'

/** Backfill may still be writing days of a coin that was opened less than this ago. */
const WATCH_CLOSELY_MS = 30 * 60_000
const HOUR_MS = 3_600_000

/** What is known of a coin's history. */
export interface KnownHistory {
  readonly history?: History | undefined
  readonly error?: ApiError | undefined
  /** The API did not answer, so the history is the one that this device kept. */
  readonly isOld: boolean
  /** The newest minute in the history, as the API writes it. */
  readonly asOf?: string | undefined
  /** How many days there are in all; undefined until a request asked for more than there are. */
  readonly total?: number | undefined
}

/** Options of a {@link HistoryLoader}. */
export interface HistoryLoaderOptions {
  readonly client: Pick<Client, 'daily'>
  readonly shelf: Shelf
  readonly symbol: string
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly onChange: (known: KnownHistory) => void
}

/** Loads one coin's history, and loads it again while it can still change. */
export class HistoryLoader {
  readonly #options: HistoryLoaderOptions
  readonly #openedAt: number
  #known: KnownHistory = { isOld: false }
  #range = 0
  #minute: string | undefined
  #loadedAt = 0
  #hasGrown = false
  #request: AbortController | undefined

  constructor(options: HistoryLoaderOptions) {
    this.#options = options
    this.#openedAt = options.now()
  }

  /** Loads the newest `range` days. */
  load(range: number): void {
    this.#range = range
    void this.reload()
  }

  /**
   * Call it with each minute of the live list: requests the history again if it may have changed.
   * @param minute undefined while the list does not answer
   */
  onMinute(minute: string | undefined): void {
    const before = this.#minute
    this.#minute = minute
    if (minute === undefined || this.#range === 0) return
    if (this.#known.error || (minute !== before && this.#isDue(minute))) void this.reload()
  }

  async reload(): Promise<void> {
    const { client, symbol } = this.#options
    this.#request?.abort()
    this.#request = new AbortController()
    const { signal } = this.#request
    const range = this.#range
    try {
      const history = await client.daily(symbol, { days: range, signal })
      if (!signal.aborted) this.#keep(history, range)
    } catch (error) {
      if (!signal.aborted && error instanceof ApiError) this.#fail(error, range)
    }
  }

  close(): void {
    this.#request?.abort()
  }

  #isDue(minute: string): boolean {
    const now = this.#options.now()
    const isNewDay = this.#known.asOf?.slice(0, 10) !== minute.slice(0, 10)
    const isFresh = now - this.#openedAt < WATCH_CLOSELY_MS
    return isNewDay || isFresh || this.#hasGrown || now - this.#loadedAt >= HOUR_MS
  }

  #keep(history: History, range: number): void {
    const { shelf, now } = this.#options
    const { history: before } = this.#known
    this.#loadedAt = now()
    this.#hasGrown = before !== undefined && hasGrown(before, history)
    shelf.put('history', history)
    const known = this.#known.total ?? 0
    const total = history.count < range ? history.count : known > history.count ? known : undefined
    this.#show({ history, isOld: false, asOf: this.#minute, total })
  }

  #fail(error: ApiError, range: number): void {
    const { shelf, symbol } = this.#options
    const { history, asOf } = this.#known
    const isGone = error.code === 'unknown_symbol'
    const kept = isGone ? undefined : (history ?? shelf.get<History>('history'))
    const old = kept?.symbol === symbol ? { ...kept, data: kept.data.slice(-range) } : undefined
    this.#show({ history: old, error, isOld: old !== undefined, asOf: history && asOf })
  }

  #show(known: KnownHistory): void {
    this.#known = known
    this.#options.onChange(known)
  }
}

/** Whether the later answer has more days, or more samples in the days that both have and that are over. */
function hasGrown(before: History, after: History): boolean {
  const samples = new Map(before.data.slice(0, -1).map(day => [day.date, day.samples]))
  return (
    after.count > before.count ||
    after.data.some(({ date, samples: count }) => count > (samples.get(date) ?? Number.POSITIVE_INFINITY))
  )
}

/** A coin's history, kept up to date while the coin is open. @param minute that of the live list */
export function useHistory(
  client: Client,
  shelf: Shelf,
  symbol: string,
  range: number,
  minute: string | undefined,
): KnownHistory & { reload: () => void } {
  const [known, setKnown] = useState<KnownHistory>({ isOld: false })
  const [loader] = useState(
    () => new HistoryLoader({ client, shelf, symbol, now: Date.now, onChange: setKnown }),
  )
  useEffect(() => () => loader.close(), [loader])
  // Before the range: the first answer then knows its minute, and no second request follows.
  useEffect(() => {
    if (document.visibilityState === 'visible') loader.onMinute(minute)
  }, [loader, minute])
  useEffect(() => loader.load(range), [loader, range])
  return { ...known, reload: () => void loader.reload() }
}
