import type { ApiError, Client, LiveList } from '@kimchi/client'
import { useEffect, useRef, useState } from 'preact/hooks'
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
  /** Milliseconds to add to this device's clock to get the server's. */
  readonly clockOffsetMs: number
  /** The service has only just started: its first list is missing, or not yet whole. */
  readonly isGathering: boolean
}

/** Options of {@link openLive}. */
export interface LiveOptions {
  readonly client: Pick<Client, 'watch'>
  readonly shelf: Shelf
  readonly document: Pick<Document, 'visibilityState' | 'addEventListener' | 'removeEventListener'>
  /** Whether to go on while the page is hidden. */
  readonly runsHidden: () => boolean
  readonly setTimeout: (run: () => void, ms: number) => unknown
  readonly onChange: (live: Live) => void
}

/**
 * Keeps the live list up to date: one request a minute, none while the page is hidden (unless an alert is set),
 * one when it becomes visible. Starts with the list that an earlier visit kept.
 */
export function openLive({ client, shelf, document, runsHidden, setTimeout, onChange }: LiveOptions) {
  let live = keptBy(shelf)
  let watching: AbortController | undefined
  let attempts = live.list ? SETTLE_ATTEMPTS : 0

  function onUpdate({ list, error, clockOffsetMs }: Omit<Live, 'isGathering'>): void {
    const { list: before, isGathering: wasGathering } = live
    const isSettled = attempts >= SETTLE_ATTEMPTS || (list !== undefined && list.count === before?.count)
    const hasJustStarted = error?.code === 'not_ready' && list === undefined
    live = { list, error, clockOffsetMs, isGathering: hasJustStarted || (wasGathering && !isSettled) }
    if (!error) {
      shelf.put('live', list)
      attempts = isSettled ? SETTLE_ATTEMPTS : attempts + 1
      // The first list of a service that has just started lacks coins, so the next request comes soon.
      if (!isSettled) setTimeout(restart, SETTLE_MS)
    }
    onChange(live)
  }

  function restart(): void {
    if (!watching) return
    stop()
    follow()
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
    now: () => live,
    close: () => {
      document.removeEventListener('visibilitychange', follow)
      stop()
    },
  }
}

/** The live list. While the page is hidden it is requested only when `runsHidden`. */
export function useLive(client: Client, shelf: Shelf, runsHidden: boolean): Live {
  const hidden = useRef(runsHidden)
  hidden.current = runsHidden
  const [live, onChange] = useState(() => keptBy(shelf))
  useEffect(() => {
    const runsHidden = () => hidden.current
    return openLive({ client, shelf, document, runsHidden, setTimeout, onChange }).close
  }, [client, shelf])
  return live
}

/** The list of an earlier visit. */
function keptBy(shelf: Shelf): Live {
  return { list: shelf.get('live'), error: undefined, clockOffsetMs: 0, isGathering: false }
}
