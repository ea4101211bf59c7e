import { ApiError, type History } from '@kimchi/client'
import { useEffect, useState } from 'preact/hooks'
import { useView } from '../view.ts'

/** What is known of a coin's history. */
export interface KnownHistory {
  /** The newest answer, with the minute of the list when it was asked for. */
  readonly history?: (History & { readonly asOf: string }) | undefined
  /** Why the newest request failed. */
  readonly error?: ApiError | undefined
}

/** The newest `range` days of a coin, asked for at each new minute of the list while the coin is open. */
export function useHistory(symbol: string, range: number): KnownHistory {
  const { client, minute } = useView()
  const [known, setKnown] = useState<KnownHistory>({})
  useEffect(() => {
    if (minute === undefined) return
    const ending = new AbortController()
    client.daily(symbol, { days: range, signal: ending.signal }).then(
      history => setKnown({ history: { ...history, asOf: minute } }),
      error => {
        if (!(error instanceof ApiError)) return
        // The days of before stay, unless the coin is gone.
        const isGone = error.code === 'unknown_symbol'
        setKnown(({ history }) => ({ history: isGone ? undefined : history, error }))
      },
    )
    return () => ending.abort()
  }, [range, minute])
  return known
}
