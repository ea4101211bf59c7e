import { ApiError, type History } from '@kimchi/client'
import { useEffect, useState } from 'preact/hooks'
import { keep, recall } from '../storage.ts'
import { useView } from '../view.ts'
import { calendarOf } from './days.ts'

/** What was asked for: so many days, in this minute of the live list. */
interface Asked {
  readonly range?: number | undefined
  readonly minute?: string | undefined
}

/** A history with its newest minute, as the API writes it. */
export type DatedHistory = History & { readonly asOf?: string | undefined }

/** What is known of a coin's history, and what was asked for last. */
export interface KnownHistory extends Asked {
  /** The newest answer; after an error that of before, or the one that this device kept. */
  readonly history?: DatedHistory | undefined
  /** Why the newest request failed. */
  readonly error?: ApiError | undefined
  /** How many days there are in all, those without a row included; undefined until a request asked for more than there are. */
  readonly total?: number | undefined
}

/** Whether to ask: for other days than before, or because the list has a new minute, and so has today. */
export function isDue(known: KnownHistory, { range, minute }: Asked): boolean {
  return range !== known.range || (minute !== undefined && minute !== known.minute)
}

export function afterAnswer({ total }: KnownHistory, asked: Asked, history: History): KnownHistory {
  const isAll = history.count < (asked.range ?? 0)
  return {
    ...asked,
    history: { ...history, asOf: asked.minute },
    total: isAll ? calendarOf(history.data).length : total,
  }
}

/** @param kept what this device has of the coin from an earlier visit */
export function afterFailure(
  known: KnownHistory,
  asked: Asked,
  error: ApiError,
  kept: DatedHistory | undefined,
): KnownHistory {
  const history = error.code === 'unknown_symbol' ? undefined : (known.history ?? kept)
  return { ...known, ...asked, history, error }
}

/** The newest `range` days of a coin, kept up to date while the coin is open. */
export function useHistory(symbol: string, range: number): KnownHistory & { reload: () => void } {
  const { client, minute, isAnswered } = useView()
  const [known, setKnown] = useState<KnownHistory>({})
  useEffect(() => {
    const asked = { range, minute }
    if (!isAnswered || !isDue(known, asked)) return
    const ending = new AbortController()
    client.daily(symbol, { days: range, signal: ending.signal }).then(
      history => {
        const next = afterAnswer(known, asked, history)
        keep('history', next.history)
        setKnown(next)
      },
      error => {
        const kept = recall<DatedHistory>('history')
        const own = kept?.symbol === symbol ? kept : undefined
        if (error instanceof ApiError) setKnown(afterFailure(known, asked, error, own))
      },
    )
    return () => ending.abort()
  }, [range, minute, isAnswered, known.range])
  return { ...known, reload: () => setKnown({ ...known, range: undefined }) }
}
