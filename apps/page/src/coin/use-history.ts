import { ApiError, type Client, type History } from '@kimchi/client'
import { useEffect, useState } from 'preact/hooks'
import type { Shelf } from '../storage.ts'

/** The history to load. */
export interface HistoryQuestion {
  readonly client: Pick<Client, 'daily'>
  readonly shelf: Shelf
  readonly symbol: string
  readonly range: number
  /** UTC date; a new one loads again. */
  readonly today: string
}

interface Known {
  readonly history?: History | undefined
  readonly error?: ApiError | undefined
  /** The history is the one kept on this device, since the API did not answer. */
  readonly isOld: boolean
}

/** A coin's history, requested once per coin, range and day; the one kept last when the request fails. */
export function useHistory({
  client,
  shelf,
  symbol,
  range,
  today,
}: HistoryQuestion): Known & { reload: () => void } {
  const [known, setKnown] = useState<Known>({ isOld: false })
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    const leaving = new AbortController()
    client.daily(symbol, { days: range, signal: leaving.signal }).then(
      history => {
        shelf.put('history', history)
        setKnown({ history, isOld: false })
      },
      error => {
        if (leaving.signal.aborted || !(error instanceof ApiError)) return
        const kept = shelf.get<History>('history')
        const old = kept?.symbol === symbol && error.code !== 'unknown_symbol' ? kept : undefined
        setKnown({
          history: old && { ...old, data: old.data.slice(-range) },
          error,
          isOld: old !== undefined,
        })
      },
    )
    return () => leaving.abort()
  }, [client, shelf, symbol, range, today, attempt])
  return { ...known, reload: () => setAttempt(attempt + 1) }
}
