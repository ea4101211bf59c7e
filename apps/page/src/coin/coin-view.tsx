import '../style/coin.css'
import { useMemo, useState } from 'preact/hooks'
import { AlertButton } from '../alerts/alert-button.tsx'
import { Change, Percent } from '../percent.tsx'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'
import { Chart } from './chart.tsx'
import type { CoinProps } from './coin-props.ts'
import { DayTable } from './day-table.tsx'
import { changeSinceYesterday, figuresOf, toDays } from './days.ts'
import { FigureList } from './figure-list.tsx'
import { HistoryNotice } from './history-notice.tsx'
import { RangeSwitch } from './range-switch.tsx'
import { useHistory } from './use-history.ts'

/** One coin: its premium now, its days as candles and as a table, and what they say about the premium. */
export function CoinView({ symbol, range, row, minute, client, shelf, theme, alerts }: CoinProps) {
  const { t, f, now, nameOf } = useView()
  const [hasAverage, setAverage] = useState(() => shelf.get<boolean>('movingAverage') ?? false)
  const known = useHistory({ client, shelf, symbol, range, minute })
  const { history, asOf, total, error } = known
  const today = new Date(now).toISOString().slice(0, 10)
  const days = useMemo(() => toDays(history?.data ?? [], today), [history, today])
  const figures = useMemo(() => figuresOf(days, row?.premium_pct), [days, row])
  const since = row && changeSinceYesterday(days, row.premium_pct, today)
  const asOfText = asOf ? fill(t.runningAsOf, f.time(Date.parse(`${asOf}Z`), now)) : ''
  const named = row ?? history
  const isUnknown = error?.code === 'unknown_symbol' && !row
  const showAverage = (next: boolean) => {
    setAverage(next)
    shelf.put('movingAverage', next)
  }
  return (
    <article class="coin-view">
      <div class="bar-above">
        <a class="back" href="#/">
          <span aria-hidden="true">←</span> {t.back}
        </a>
        {!isUnknown && <AlertButton target={symbol} alerts={alerts} />}
      </div>
      <div class="head">
        <h1>
          {symbol} <span class="name">{named && nameOf(named)}</span>
        </h1>
        {row ? (
          <p class="now">
            <Percent value={row.premium_pct} />
            {since !== undefined && <Change points={since} />}
          </p>
        ) : (
          !isUnknown && <span class="note">{t.notListed}</span>
        )}
      </div>
      <HistoryNotice {...known} symbol={symbol} days={days.length} isListed={row !== undefined} />
      {days.length > 0 && (
        <>
          <RangeSwitch {...{ symbol, range, total, hasAverage }} onAverage={showAverage} />
          <Chart {...{ days, symbol, theme, hasAverage }} average={figures?.average} />
        </>
      )}
      <FigureList row={row} day={days.find(day => day.isRunning)} asOf={asOfText} figures={figures} />
      {days.length > 0 && <DayTable days={days} symbol={symbol} asOf={asOfText} />}
    </article>
  )
}
