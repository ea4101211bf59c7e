import { fill } from '../text/language.ts'
import { useView } from '../view.ts'
import type { KnownHistory } from './history-loader.ts'

/** What is known of a history, and what else is on screen. */
export interface HistoryNoticeProps extends KnownHistory {
  readonly symbol: string
  /** How many days are shown. */
  readonly days: number
  /** The coin is in the live list. */
  readonly isListed: boolean
  readonly reload: () => void
}

/** Says why a history is missing or old. */
export function HistoryNotice({ history, error, isOld, symbol, days, isListed, reload }: HistoryNoticeProps) {
  const { t } = useView()
  if (!error) {
    if (!history) return <p class="empty">{t.loading}</p>
    return days === 0 ? <p class="empty">{fill(t.noHistory, symbol)}</p> : null
  }
  // The list may know a coin a moment before its history does.
  if (error.code === 'unknown_symbol' && isListed) return <p class="empty">{fill(t.noHistory, symbol)}</p>
  if (error.code === 'not_ready') return <p class="empty">{t.gathering}</p>
  const isUnknown = error.code === 'unknown_symbol'
  return (
    <p class="notice trouble" role="alert">
      {isUnknown ? fill(t.unknownCoin, symbol) : isOld ? t.historyOld : t.historyDown}{' '}
      {!isUnknown && (
        <button type="button" onClick={reload}>
          {t.retry}
        </button>
      )}
    </p>
  )
}
