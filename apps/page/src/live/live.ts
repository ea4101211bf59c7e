import type { Client, LiveList, LiveUpdate } from '@kimchi/client'
import { useEffect, useState } from 'preact/hooks'
import { keep, recall } from '../storage.ts'

/** The newest update of the client's; before the first one, the list of an earlier visit. */
export interface Live extends Omit<LiveUpdate, 'nextInMs'> {
  /** Somebody has answered since the page was opened, or came back too late; before, nobody knows how the service is. */
  readonly isAnswered: boolean
}

/** Keeps the live list up to date, also while nobody looks: the title goes on. */
export function useLive(client: Client): Live {
  const [live, setLive] = useState<Live>(() => ({
    list: recall<LiveList>('live'),
    error: undefined,
    clockOffsetMs: 0,
    isAnswered: false,
  }))
  const [start, restart] = useState({})
  useEffect(() => {
    const ending = new AbortController()
    let dueAt = Number.POSITIVE_INFINITY
    const onUpdate = (update: LiveUpdate) => {
      dueAt = Date.now() + update.nextInMs
      if (!update.error) keep('live', update.list)
      setLive({ ...update, isAnswered: true })
    }
    // Timers stand still while a device sleeps.
    const onReturn = () => Date.now() > dueAt && restart({})
    document.addEventListener('visibilitychange', onReturn, { signal: ending.signal })
    setLive(before => ({ ...before, isAnswered: false }))
    void client.watch(onUpdate, { signal: ending.signal, last: live.list })
    return () => ending.abort()
  }, [client, start])
  return live
}
