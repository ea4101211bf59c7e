import { fill } from '../text/language.ts'
import { Percent, Span } from '../values.tsx'
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
        <span class="note">
          {t.dayBegins} <Dot kind="running" /> {t.running}
          {days.some(day => day.isPartial) && (
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
              {[t.date, t.close, t.average, t.lowHigh, t.open, t.samples].map(name => (
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
                  <time dateTime={day.date}>
                    <span class="year">{day.date.slice(0, 5)}</span>
                    {day.date.slice(5)}
                  </time>
                  {day.isRunning && <Dot kind="running" text={`${t.running}, ${asOf}`} />}
                  {day.isPartial && (
                    <Dot
                      kind="partial"
                      text={`${t.partial}, ${fill(t.partialHint, f.number(day.samples, 0))}`}
                    />
                  )}
                </th>
                <td>
                  <Percent value={day.close_pct} />
                </td>
                <td>
                  <Percent value={day.avg_pct} />
                </td>
                <td>
                  <Span from={day.low_pct} to={day.high_pct} />
                </td>
                <td>
                  <Percent value={day.open_pct} />
                </td>
                <td>{f.number(day.samples, 0)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  )
}

/** Marks a day without making its row higher; a screen reader and a pointer get the words. */
function Dot({ kind, text }: { kind: 'running' | 'partial'; text?: string }) {
  return (
    <span class={`dot ${kind}`} title={text}>
      {text && <span class="unseen">{text}</span>}
    </span>
  )
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }))
  Object.assign(document.createElement('a'), { href: url, download: name }).click()
  // By then the browser has begun to save the file.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
