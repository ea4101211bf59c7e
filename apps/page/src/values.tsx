import { utcMs } from '@kimchi/client'
import type { ComponentChildren } from 'preact'
import { useView } from './view.ts'

/** A premium: its sign tells premium from discount, colour only repeats it. The last two digits are small. */
export function Percent({ value, isColoured = false }: { value: number; isColoured?: boolean }) {
  const { f } = useView()
  const [digits, rest] = f.percent(value)
  return (
    <data class={isColoured ? `pct ${directionOf(value)}` : 'pct'} value={value}>
      {digits}
      <small>{rest}</small>%
    </data>
  )
}

/** A change in percentage points: arrow and colour show its direction. */
export function Change({ points }: { points: number }) {
  const { t, f } = useView()
  return (
    <span class={`change ${directionOf(points)}`}>
      <span aria-hidden="true">{points > 0 ? '▲' : points < 0 ? '▼' : ''}</span>
      <data value={points}>
        {f.percent(points)[0]}
        {t.points}
      </data>{' '}
      <span class="note">{t.sinceYesterday}</span>
    </span>
  )
}

/** `up`, `down` or `flat`. */
export function directionOf(value: number): string {
  return value > 0 ? 'up' : value < 0 ? 'down' : 'flat'
}

/** A time of the API in the time zone of the language; its title is the time in UTC. */
export function Time({ at }: { at: string }) {
  const { f, now } = useView()
  const ms = utcMs(at)
  return (
    <time dateTime={`${at}Z`} title={f.utc(ms, now)}>
      {f.time(ms, now)}
    </time>
  )
}

interface FigureProps {
  readonly name: string
  /** Beside the name. */
  readonly note?: ComponentChildren
  /** Below the value. */
  readonly hint?: string
  readonly children: ComponentChildren
}

/** A named value in a description list. */
export function Figure({ name, note, hint, children }: FigureProps) {
  return (
    <div>
      <dt>
        {name} {note && <span class="note">{note}</span>}
      </dt>
      <dd>
        {children}
        {hint && <span class="hint">{hint}</span>}
      </dd>
    </div>
  )
}
