import { type Client, type LiveList, type LiveUpdate, utcMs } from '@kimchi/client'
import { useEffect, useState } from 'preact/hooks'
import { keep, recall } from '../storage.ts'

/** The newest update of the client's; before the first one, the list of an earlier visit. */
export type Live = Omit<LiveUpdate, 'nextInMs'>

/** Each minute is published within 5 s of its end: at this age of the newest one, three others are missing. */
const OVERDUE_MS = 4 * 60_000

/** Whether the newest minute is older than it can be while the service has prices. */
export function isOverdue({ updated_at }: LiveList, now: number): boolean {
  return now - utcMs(updated_at) > OVERDUE_MS
}

/** Keeps the live list up to date while it is wanted: one request at once, then one a minute. */
export function useLive(client: Client, isWanted: boolean): Live {
  const [live, setLive] = useState<Live>(() => ({ list: recall('live'), error: undefined, clockOffsetMs: 0 }))
  useEffect(() => {
    if (!isWanted) return
    const ending = new AbortController()
    const onUpdate = (update: LiveUpdate) => {
      if (!update.error) keep('live', update.list)
      setLive(update)
    }
    void client.watch(onUpdate, { signal: ending.signal, last: live.list, onceMore: true })
    return () => ending.abort()
  }, [client, isWanted])
  return live
}
