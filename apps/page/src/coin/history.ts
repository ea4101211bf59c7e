import { ApiError, type History } from '@kimchi/client'
import { useEffect, useState } from 'preact/hooks'
import { keep, recall } from '../storage.ts'
import { useView } from '../view.ts'

/** For this long after a history was opened, or has grown, it is read each minute: backfill may be adding to it. */
const WATCH_CLOSELY_MS = 30 * 60_000

/** What was asked for: so many days, in this minute of the live list. */
interface Asked {
  readonly range?: number | undefined
  readonly minute?: string | undefined
}

/** What is known of a coin's history, and what was asked for last. */
export interface KnownHistory extends Asked {
  /** The newest answer; after an error that of before, or the one that this device kept. */
  readonly history?: History | undefined
  /** Why the newest request failed. */
  readonly error?: ApiError | undefined
  /** The newest minute in the history, as the API writes it. */
  readonly asOf?: string | undefined
  /** How many days there are in all; undefined until a request asked for more than there are. */
  readonly total?: number | undefined
  /** When it was opened, or has grown, in milliseconds since the epoch. */
  readonly changedAt: number
}

/** Whether to ask: for other days than before, or because these may have changed by this minute. */
export function isDue(known: KnownHistory, { range, minute }: Asked, now: number): boolean {
  if (range !== known.range) return true
  if (minute === undefined || minute === known.minute) return false
  const isRecent = now - known.changedAt < WATCH_CLOSELY_MS
  const isAnotherHour = minute.slice(0, 13) !== known.minute?.slice(0, 13)
  return known.error !== undefined || isRecent || isAnotherHour
}

export function afterAnswer(known: KnownHistory, asked: Asked, history: History, now: number): KnownHistory {
  const { history: before, total } = known
  return {
    ...asked,
    history,
    asOf: asked.minute,
    total: history.count < (asked.range ?? 0) ? history.count : total,
    changedAt: before && hasGrown(before, history) ? now : known.changedAt,
  }
}

/** @param kept what this device has of the coin from an earlier visit */
export function afterFailure(
  known: KnownHistory,
  asked: Asked,
  error: ApiError,
  kept: History | undefined,
): KnownHistory {
  const history = error.code === 'unknown_symbol' ? undefined : (known.history ?? kept)
  return { ...known, ...asked, history, error }
}

/** Whether the later answer has more days, or more samples in the days that both have and that are over. */
function hasGrown(before: History, after: History): boolean {
  const samples = new Map(before.data.slice(0, -1).map(day => [day.date, day.samples]))
  return (
    after.count > before.count ||
    after.data.some(({ date, samples: count }) => count > (samples.get(date) ?? Number.POSITIVE_INFINITY))
  )
}

/** The newest `range` days of a coin, kept up to date while the coin is open. */
export function useHistory(symbol: string, range: number): KnownHistory & { reload: () => void } {
  const { client, minute, now } = useView()
  const [known, setKnown] = useState<KnownHistory>({ changedAt: now() })
  useEffect(() => {
    const asked = { range, minute }
    if (!isDue(known, asked, now())) return
    const ending = new AbortController()
    client.daily(symbol, { days: range, signal: ending.signal }).then(
      history => {
        keep('history', history)
        setKnown(afterAnswer(known, asked, history, now()))
      },
      error => {
        const kept = recall<History>('history')
        const own = kept?.symbol === symbol ? kept : undefined
        if (error instanceof ApiError) setKnown(afterFailure(known, asked, error, own))
      },
    )
    return () => ending.abort()
  }, [range, minute, known.range])
  return { ...known, reload: () => setKnown({ ...known, range: undefined }) }
}
