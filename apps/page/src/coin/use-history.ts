import { useEffect, useState } from 'preact/hooks'
import { HistoryLoader, type HistoryLoaderOptions, type KnownHistory } from './history-loader.ts'

/** Which history to show. */
export interface HistoryQuestion extends Pick<HistoryLoaderOptions, 'client' | 'shelf' | 'symbol'> {
  readonly range: number
  /** The minute of the live list; undefined while the list does not answer. */
  readonly minute: string | undefined
}

/** A coin's history, kept up to date while the coin is open. */
export function useHistory(question: HistoryQuestion): KnownHistory & { reload: () => void } {
  const { client, shelf, symbol, range, minute } = question
  const [known, setKnown] = useState<KnownHistory>({ isOld: false })
  const [loader] = useState(
    () => new HistoryLoader({ client, shelf, symbol, now: Date.now, onChange: setKnown }),
  )
  useEffect(() => () => loader.close(), [loader])
  // Before the range: the first answer then knows its minute, and is not followed by a second one.
  useEffect(() => {
    if (document.visibilityState === 'visible') loader.onMinute(minute)
  }, [loader, minute])
  useEffect(() => loader.show(range), [loader, range])
  return { ...known, reload: () => void loader.ask() }
}
