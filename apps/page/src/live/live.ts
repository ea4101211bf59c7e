import { type Client, type LiveList, type LiveUpdate, utcMs } from '@kimchi/client'
import { useEffect, useState } from 'preact/hooks'
import { keep, recall } from '../storage.ts'

/** The first list of a service that has just started lacks coins, so the next request comes soon. */
const GATHERING_MS = 5_000

/** The state of the live list on the page: the newest update of the client's, and what else it says. */
export interface Live extends Omit<LiveUpdate, 'nextInMs'> {
  /** The service has only just started: its first list is missing, or not yet whole. */
  readonly isGathering: boolean
}

/** Each minute is published within 5 s of its end: at this age of the newest one, three others are missing. */
const OVERDUE_MS = 4 * 60_000

/** Whether the newest minute is older than it can be while the service has prices. */
export function isOverdue({ updated_at }: LiveList, now: number): boolean {
  return now - utcMs(updated_at) > OVERDUE_MS
}

/** The state before the first update. @param list that of an earlier visit */
export function beginWith(list: LiveList | undefined): Live {
  return { list, error: undefined, clockOffsetMs: 0, isGathering: false }
}

/** The state after an update. A service has gathered its coins when a list has no more than the one before. */
export function afterUpdate(before: Live, { list, error, clockOffsetMs }: LiveUpdate): Live {
  const hasJustStarted = error?.code === 'not_ready' && list === undefined
  const isGrowing = before.isGathering && list?.count !== before.list?.count
  return { list, error, clockOffsetMs, isGathering: hasJustStarted || isGrowing }
}

/**
 * Keeps the live list up to date while it is wanted: one request at once, then one a minute. Starts with the
 * list that an earlier visit kept.
 */
export function useLive(client: Client, isWanted: boolean): Live {
  const [live, setLive] = useState(() => beginWith(recall('live')))
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    if (!isWanted) return
    const ending = new AbortController()
    const onUpdate = (update: LiveUpdate) => {
      if (!update.error) keep('live', update.list)
      setLive(before => afterUpdate(before, update))
    }
    void client.watch(onUpdate, { signal: ending.signal, last: live.list, onceMore: true })
    return () => ending.abort()
  }, [client, isWanted, turn])
  useEffect(() => {
    if (!live.isGathering || live.error) return
    const timer = setTimeout(() => setTurn(turn + 1), GATHERING_MS)
    return () => clearTimeout(timer)
  }, [live])
  return live
}
