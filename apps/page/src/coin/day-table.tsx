import type { Formats } from '../text/format.ts'
import { Percent } from '../values.tsx'
import { useView } from '../view.ts'
import { Dot } from './day-dot.tsx'
import { type Day, toCsv } from './days.ts'

/** The columns after the date, by the key of the heading's text. */
const COLUMNS = {
  close: ({ close_pct }: Day) => <Percent value={close_pct} />,
  average: ({ avg_pct }: Day) => <Percent value={avg_pct} />,
  lowHigh: ({ low_pct, high_pct }: Day) => (
    <>
      <Percent value={low_pct} /> – <Percent value={high_pct} />
    </>
  ),
  open: ({ open_pct }: Day) => <Percent value={open_pct} />,
  samples: ({ samples }: Day, f: Formats) => f.number(samples, 0),
}
const columns = Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]

/** The days as a table, newest first, and as a file. */
export function DayTable({ days, symbol, asOf }: { days: readonly Day[]; symbol: string; asOf: string }) {
  const { t, f, isSimulated } = useView()
  const file = `${isSimulated ? 'SIMULATED-' : ''}${symbol}-premium.csv`
  const explain = ({ status }: Day) => (status === 'running' ? `${t.running}, ${asOf}` : t.partial)
  return (
    <div class="days">
      <div class="tools">
        <h2>{t.dayTable}</h2>
        <span class="note">
          {t.dayBegins} <Dot kind="running" /> {t.running}
          {days.some(({ status }) => status === 'partial') && (
            <>
              {' '}
              <Dot kind="partial" /> {t.partial}
            </>
          )}
        </span>
        <button type="button" onClick={() => download(file, toCsv(days))}>
          <span aria-hidden="true">↓</span> {t.download}
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach what scrolls. */}
      <section class="scroll" aria-label={t.dayTable} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {(['date', ...columns] as const).map(name => (
                <th key={name} scope="col">
                  {t[name]}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {days.toReversed().map(day => (
              <tr key={day.date} class={day.status}>
                <th scope="row">
                  <time dateTime={day.date}>
                    <span class="year">{day.date.slice(0, 5)}</span>
                    {day.date.slice(5)}
                  </time>
                  {day.status !== 'whole' && <Dot kind={day.status} text={explain(day)} />}
                </th>
                {columns.map(name => (
                  <td key={name}>{COLUMNS[name](day, f)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  )
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }))
  Object.assign(document.createElement('a'), { href: url, download: name }).click()
  // By then the browser has begun to save the file.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
