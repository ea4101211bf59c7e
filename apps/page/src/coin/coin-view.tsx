import '../style/coin.css'
import type { CoinPremium } from '@kimchi/client'
import { useMemo } from 'preact/hooks'
import { AlertForm } from '../alerts/alert-form.tsx'
import { fill } from '../text/language.ts'
import { Change, Percent, Stale } from '../values.tsx'
import { useView } from '../view.ts'
import { Chart } from './chart.tsx'
import { DayTable } from './day-table.tsx'
import { changeSince, dayBefore, toDays } from './days.ts'
import { FigureList } from './figure-list.tsx'
import { useHistory } from './history.ts'
import { HistoryNotice } from './history-notice.tsx'
import { RangeSwitch } from './range-switch.tsx'

export interface CoinProps {
  readonly symbol: string
  /** Days shown. */
  readonly range: number
  /** The coin's live row; undefined while it has none. */
  readonly row: CoinPremium | undefined
}

/** One coin: its premium now, its days as a chart and as a table, and what they say about the premium. */
export function CoinView({ symbol, range, row }: CoinProps) {
  const { t, now, nameOf, current, timeOf } = useView()
  const currentRow = row && current.find(coin => coin === row)
  const known = useHistory(symbol, range)
  const { history, error } = known
  const today = new Date(now()).toISOString().slice(0, 10)
  const days = useMemo(() => toDays(history?.data ?? [], today, range), [history, range, today])
  // The row's yesterday: in the first minute of a day the newest row is of the day before.
  const yesterday = currentRow && dayBefore(currentRow.snapshot_at.slice(0, 10))
  const close = days.find(({ date }) => date === yesterday)?.close_pct
  const since = currentRow && changeSince(close, currentRow.premium_pct)
  const asOfText = history ? fill(t.runningAsOf, timeOf(history.asOf)) : ''
  const named = row ?? history
  const isUnknown = error?.code === 'unknown_symbol' && !row
  return (
    <article class="coin-view">
      <div class="bar-above">
        <a class="back" href="#/">
          <span aria-hidden="true">←</span> {t.back}
        </a>
        {!isUnknown && <AlertForm target={symbol} />}
      </div>
      <div class="head">
        <h1>
          {symbol} <span class="name">{named && nameOf(named)}</span>
        </h1>
        {row ? (
          <p class={currentRow ? 'now' : 'now stale'}>
            <Percent value={row.premium_pct} />
            <span class="note">{t.usdtBasis}</span>
            {!currentRow && <Stale at={row.snapshot_at} />}
            {since !== undefined && <Change points={since} note={t.sinceYesterday} />}
          </p>
        ) : (
          !isUnknown && current.length > 0 && <span class="note">{t.notListed}</span>
        )}
      </div>
      <HistoryNotice {...known} symbol={symbol} isListed={row !== undefined} />
      {days.length > 0 && (
        <>
          <RangeSwitch symbol={symbol} range={range} />
          <Chart days={days} symbol={symbol} />
        </>
      )}
      {row && <FigureList row={row} />}
      {days.length > 0 && <DayTable days={days} symbol={symbol} asOf={asOfText} />}
    </article>
  )
}
