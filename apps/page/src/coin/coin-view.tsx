import { useMemo, useState } from 'preact/hooks'
import { Percent } from '../percent.tsx'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'
import { Chart } from './chart-view.tsx'
import type { CoinProps } from './coin-props.ts'
import { DayTable } from './day-table.tsx'
import { FigureList } from './figure-list.tsx'
import { figuresOf, toDays } from './history.ts'
import { useHistory } from './use-history.ts'

/** Days that can be shown; 0 stands for all that the API keeps in one answer. */
const RANGES = [30, 90, 365, 3650] as const

/** One coin: its premium now, its days as candles and as a table, and what they say about today. */
export function CoinView({ symbol, row, client, shelf, theme }: CoinProps) {
  const { t, f, now } = useView()
  const [range, setRange] = useState<number>(90)
  const today = new Date(now).toISOString().slice(0, 10)
  const { history, error, isOld, reload } = useHistory({ client, shelf, symbol, range, today })
  const days = useMemo(() => toDays(history?.data ?? [], row, today), [history, row, today])
  const figures = useMemo(() => figuresOf(days), [days])
  const running = days.find(day => day.isRunning)
  return (
    <article class="coin-view">
      <a class="back" href="#/">
        <span aria-hidden="true">←</span> {t.back}
      </a>
      <div class="head">
        <h1>
          {symbol} <span class="name">{row?.name ?? history?.name}</span>
        </h1>
        {row ? <Percent value={row.premium_pct} arrow /> : <span class="note">{t.notListed}</span>}
      </div>
      <fieldset class="ranges">
        <legend class="unseen">{t.range}</legend>
        {RANGES.map(days => (
          <button key={days} type="button" aria-pressed={days === range} onClick={() => setRange(days)}>
            {days === 3650 ? t.all : fill(t.days, f.number(days, 0))}
          </button>
        ))}
      </fieldset>
      {error && (
        <p class="notice trouble" role="alert">
          {error.code === 'unknown_symbol'
            ? fill(t.unknownCoin, symbol)
            : isOld
              ? t.historyOld
              : t.historyDown}{' '}
          {error.code !== 'unknown_symbol' && (
            <button type="button" onClick={reload}>
              {t.retry}
            </button>
          )}
        </p>
      )}
      {!history && !error && <p class="empty">{t.loading}</p>}
      {history && days.length === 0 && <p class="empty">{fill(t.noHistory, symbol)}</p>}
      {days.length > 0 && <Chart days={days} average={figures?.average} symbol={symbol} theme={theme} />}
      <FigureList row={row} day={running} figures={figures} />
      {days.length > 0 && <DayTable days={days} symbol={symbol} />}
    </article>
  )
}
