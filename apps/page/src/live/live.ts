import type { ApiError, Client, LiveList } from '@kimchi/client'
import type { Shelf } from '../storage.ts'

/** The state of the live list on the page. */
export interface Live {
  /** The last good answer, of this visit or an earlier one. */
  readonly list: LiveList | undefined
  /** Why the newest request failed. */
  readonly error: ApiError | undefined
  /** Milliseconds to add to this device's clock to have the server's. */
  readonly clockOffsetMs: number
}

/** The part of a document that is used. */
export type Visibility = Pick<Document, 'visibilityState' | 'addEventListener' | 'removeEventListener'>

/** Options of {@link openLive}. */
export interface LiveOptions {
  readonly client: Pick<Client, 'watch'>
  readonly shelf: Shelf
  readonly document: Visibility
  readonly onChange: (live: Live) => void
}

/**
 * Keeps the live list up to date: one request a minute, none while the page is hidden, one when it becomes
 * visible. Starts from what an earlier visit kept.
 */
export function openLive({ client, shelf, document, onChange }: LiveOptions): {
  readonly now: Live
  close(): void
} {
  let live: Live = { list: shelf.get('live'), error: undefined, clockOffsetMs: 0 }
  let watching: AbortController | undefined
  const follow = () => {
    const isSeen = document.visibilityState === 'visible'
    if (isSeen === (watching !== undefined)) return
    watching?.abort()
    watching = isSeen ? new AbortController() : undefined
    if (!watching) return
    const onUpdate = ({ list, error, clockOffsetMs }: Live) => {
      live = { list, error, clockOffsetMs }
      if (!error) shelf.put('live', list)
      onChange(live)
    }
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
      watching?.abort()
    },
  }
}
