import { ApiError, type Client, type History } from '@kimchi/client'
import type { Shelf } from '../storage.ts'

/** A coin that was just opened may still be filling up with history. */
const WATCH_CLOSELY_MS = 30 * 60_000
const HOUR_MS = 3_600_000

/** What is known of a coin's history. */
export interface KnownHistory {
  readonly history?: History | undefined
  readonly error?: ApiError | undefined
  /** The history is the one kept on this device, since the API did not answer. */
  readonly isOld: boolean
  /** The newest minute that the history holds, as the API writes it. */
  readonly asOf?: string | undefined
  /** How many days there are in all; undefined while nobody asked for more than there are. */
  readonly total?: number | undefined
}

/** What a {@link HistoryLoader} works with. */
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
  #asking: AbortController | undefined

  constructor(options: HistoryLoaderOptions) {
    this.#options = options
    this.#openedAt = options.now()
  }

  /** Shows the newest `range` days. */
  show(range: number): void {
    this.#range = range
    void this.ask()
  }

  /** The live list has answered with this minute: asks again where the history may have changed. */
  onMinute(minute: string | undefined): void {
    const before = this.#minute
    this.#minute = minute
    if (minute === undefined || this.#range === 0) return
    if (this.#known.error || (minute !== before && this.#isDue(minute))) void this.ask()
  }

  async ask(): Promise<void> {
    const { client, symbol } = this.#options
    this.#asking?.abort()
    this.#asking = new AbortController()
    const { signal } = this.#asking
    const range = this.#range
    try {
      const history = await client.daily(symbol, { days: range, signal })
      if (!signal.aborted) this.#keep(history, range)
    } catch (error) {
      if (!signal.aborted && error instanceof ApiError) this.#fail(error, range)
    }
  }

  close(): void {
    this.#asking?.abort()
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
    this.#tell({ history, isOld: false, asOf: this.#minute, total })
  }

  #fail(error: ApiError, range: number): void {
    const { shelf, symbol } = this.#options
    const { history, asOf } = this.#known
    const isGone = error.code === 'unknown_symbol'
    const kept = isGone ? undefined : (history ?? shelf.get<History>('history'))
    const old = kept?.symbol === symbol ? { ...kept, data: kept.data.slice(-range) } : undefined
    this.#tell({ history: old, error, isOld: old !== undefined, asOf: history && asOf })
  }

  #tell(known: KnownHistory): void {
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
