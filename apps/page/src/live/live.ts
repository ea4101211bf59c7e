import type { ApiError, Client, LiveList } from '@kimchi/client'
import type { Shelf } from '../storage.ts'

/** A list that has just begun may grow within seconds, coin by coin. */
const SETTLE_MS = 5_000
const SETTLE_ATTEMPTS = 6

/** The state of the live list on the page. */
export interface Live {
  /** The last good answer, of this visit or an earlier one. */
  readonly list: LiveList | undefined
  /** Why the newest request failed. */
  readonly error: ApiError | undefined
  /** Milliseconds to add to this device's clock to have the server's. */
  readonly clockOffsetMs: number
  /** The service has only just started: its first list is not there, or not yet whole. */
  readonly isGathering: boolean
}

/** The part of a document that is used. */
export type Visibility = Pick<Document, 'visibilityState' | 'addEventListener' | 'removeEventListener'>

/** Options of {@link openLive}. */
export interface LiveOptions {
  readonly client: Pick<Client, 'watch'>
  readonly shelf: Shelf
  readonly document: Visibility
  /** Whether to go on while the page is hidden. */
  readonly runsHidden: () => boolean
  /** Runs something after so many milliseconds; gives what cancels it. */
  readonly later: (run: () => void, ms: number) => () => void
  readonly onChange: (live: Live) => void
}

/**
 * Keeps the live list up to date: one request a minute, none while the page is hidden (unless somebody waits
 * for an alert), one when it becomes visible. Starts from what an earlier visit kept.
 */
export function openLive({ client, shelf, document, runsHidden, later, onChange }: LiveOptions): {
  readonly now: Live
  close(): void
} {
  let live: Live = { list: shelf.get('live'), error: undefined, clockOffsetMs: 0, isGathering: false }
  let watching: AbortController | undefined
  let cancelSettling = () => {}
  let attempts = live.list ? SETTLE_ATTEMPTS : 0

  function onUpdate({ list, error, clockOffsetMs }: Omit<Live, 'isGathering'>): void {
    const { list: before, isGathering: wasGathering } = live
    const isSettled = attempts >= SETTLE_ATTEMPTS || (list !== undefined && list.count === before?.count)
    const hasJustStarted = error?.code === 'not_ready' && list === undefined
    live = { list, error, clockOffsetMs, isGathering: hasJustStarted || (wasGathering && !isSettled) }
    if (!error) shelf.put('live', list)
    if (!error && isSettled) attempts = SETTLE_ATTEMPTS
    else if (!error) settle()
    onChange(live)
  }

  /** Asks again soon, since the first list of a service that has just started lacks coins. */
  function settle(): void {
    attempts += 1
    cancelSettling()
    cancelSettling = later(() => {
      if (!watching) return
      stop()
      follow()
    }, SETTLE_MS)
  }

  function stop(): void {
    watching?.abort()
    watching = undefined
  }

  function follow(): void {
    const isWanted = document.visibilityState === 'visible' || runsHidden()
    if (isWanted === (watching !== undefined)) return
    stop()
    if (!isWanted) return
    watching = new AbortController()
    void client.watch(onUpdate, { signal: watching.signal, last: live.list, onceMore: true })
  }

  document.addEventListener('visibilitychange', follow)
  follow()
  return {
    get now() {
      return live
    },
    close: () => {
      document.removeEventListener('visibilitychange', follow)
      cancelSettling()
      stop()
    },
  }
}
