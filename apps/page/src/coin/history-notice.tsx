import { Failure } from '../notices.tsx'
import { causeOf } from '../status-bar.tsx'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'
import type { KnownHistory } from './history.ts'

type HistoryNoticeProps = KnownHistory & { symbol: string; isListed: boolean }

/** Says why a history is missing or old. @param props `isListed`: the coin is in the live list */
export function HistoryNotice({ history, error, symbol, isListed }: HistoryNoticeProps) {
  const { t, waiting, timeOf } = useView()
  const isUnknown = error?.code === 'unknown_symbol'
  if (isUnknown && !isListed) return <Failure text={fill(t.unknownCoin, symbol)} />
  if (error && !isUnknown) {
    const text = history ? fill(t.historyOld, timeOf(history.asOf)) : t.historyDown
    return <Failure text={`${causeOf(error, t)} ${text} ${t.retrying}`} />
  }
  // The list may know a coin a moment before its history does.
  if (isUnknown || history?.count === 0) return <p class="empty">{fill(t.noHistory, symbol)}</p>
  return history || !waiting ? null : <p class="empty">{waiting}</p>
}
