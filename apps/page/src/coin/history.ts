import { ApiError, type History } from '@kimchi/client'
import { useEffect, useState } from 'preact/hooks'
import { useView } from '../view.ts'

/** What was asked for: so many days, in this minute of the live list. */
interface Asked {
  readonly range?: number | undefined
  readonly minute?: string | undefined
}

/** What is known of a coin's history, and what was asked for last. */
export interface KnownHistory extends Asked {
  /** The newest answer, with its newest minute as the API writes it; after an error that of before. */
  readonly history?: (History & { readonly asOf?: string | undefined }) | undefined
  /** Why the newest request failed. */
  readonly error?: ApiError | undefined
}

/** Whether to ask: for other days than before, or because the list has a new minute, and so has today. */
export function isDue(known: KnownHistory, { range, minute }: Asked): boolean {
  return range !== known.range || (minute !== undefined && minute !== known.minute)
}

export function afterAnswer(asked: Asked, history: History): KnownHistory {
  return { ...asked, history: { ...history, asOf: asked.minute } }
}

/** The days of before stay, unless the coin is gone. */
export function afterFailure(known: KnownHistory, asked: Asked, error: ApiError): KnownHistory {
  return { ...asked, history: error.code === 'unknown_symbol' ? undefined : known.history, error }
}

/** The newest `range` days of a coin, kept up to date while the coin is open. */
export function useHistory(symbol: string, range: number): KnownHistory {
  const { client, minute, isAnswered } = useView()
  const [known, setKnown] = useState<KnownHistory>({})
  useEffect(() => {
    const asked = { range, minute }
    if (!isAnswered || !isDue(known, asked)) return
    const ending = new AbortController()
    client.daily(symbol, { days: range, signal: ending.signal }).then(
      history => setKnown(afterAnswer(asked, history)),
      error => error instanceof ApiError && setKnown(afterFailure(known, asked, error)),
    )
    return () => ending.abort()
  }, [range, minute, isAnswered])
  return known
}
