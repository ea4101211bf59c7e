import type { Client, LiveList, LiveUpdate } from '@kimchi/client'
import { useEffect, useState } from 'preact/hooks'
import { keep, recall } from '../storage.ts'

/** The newest update of the client's; before the first one, the list of an earlier visit. */
export interface Live extends Omit<LiveUpdate, 'nextInMs'> {
  /** Somebody has answered since the page is looked at; before, nobody knows how the service is. */
  readonly isAnswered: boolean
}

/** Keeps the live list up to date while it is wanted: one request at once, then one a minute. */
export function useLive(client: Client, isWanted: boolean): Live {
  const [live, setLive] = useState<Live>(() => ({
    list: recall<LiveList>('live'),
    error: undefined,
    clockOffsetMs: 0,
    isAnswered: false,
  }))
  useEffect(() => {
    if (!isWanted) return
    const ending = new AbortController()
    const onUpdate = (update: LiveUpdate) => {
      if (!update.error) keep('live', update.list)
      setLive({ ...update, isAnswered: true })
    }
    setLive(before => ({ ...before, isAnswered: false }))
    void client.watch(onUpdate, { signal: ending.signal, last: live.list, onceMore: true })
    return () => ending.abort()
  }, [client, isWanted])
  return live
}
