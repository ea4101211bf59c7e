import { fill } from '../text/language.ts'
import { Percent } from '../values.tsx'
import { useView } from '../view.ts'
import { type Day, toCsv } from './days.ts'

/** The days as a table, newest first, and as a file. */
export function DayTable({ days, symbol, asOf }: { days: readonly Day[]; symbol: string; asOf: string }) {
  const { t, f, isSimulated } = useView()
  const file = `${isSimulated ? 'SIMULATED-' : ''}${symbol}-premium.csv`
  return (
    <div class="days">
      <div class="tools">
        <h2>{t.dayTable}</h2>
        <span class="note">{t.dayBegins}</span>
        <button type="button" onClick={() => download(file, toCsv(days))}>
          <span aria-hidden="true">↓</span> {t.download}
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach what scrolls. */}
      <section class="scroll" aria-label={t.dayTable} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {[t.date, t.open, t.high, t.low, t.close, t.average, t.samples].map(name => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {days.toReversed().map(day => (
              <tr key={day.date} class={day.isRunning ? 'running' : ''}>
                <th scope="row">
                  <time dateTime={day.date}>{day.date}</time>{' '}
                  {day.isRunning && (
                    <span class="badge">
                      {t.running}, {asOf}
                    </span>
                  )}
                </th>
                {[day.open_pct, day.high_pct, day.low_pct, day.close_pct, day.avg_pct].map((value, index) => (
                  <td key={index.toString()}>
                    <Percent value={value} />
                  </td>
                ))}
                <td>
                  {day.isPartial && (
                    <span class="badge partial" title={fill(t.partialHint, f.number(day.samples, 0))}>
                      {t.partial}
                    </span>
                  )}{' '}
                  {f.number(day.samples, 0)}
                </td>
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
