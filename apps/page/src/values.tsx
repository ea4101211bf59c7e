import { utcMs } from '@kimchi/client'
import type { ComponentChildren } from 'preact'
import { useView } from './view.ts'

/** A premium, rounded: its sign tells premium from discount, colour only repeats it. Its title is the whole value. */
export function Percent({ value, isColoured = false }: { value: number; isColoured?: boolean }) {
  const { f } = useView()
  const text = f.percent(value)
  return (
    <data
      class={isColoured ? `pct ${directionOf(text)}` : 'pct'}
      value={value}
      title={`${f.percent(value, 4)}%`}
    >
      {text}
      <span class="unit">%</span>
    </data>
  )
}

/** Two premiums with a dash between them: `+0.25 – +1.95%`. */
export function Span({ from, to }: { from: number; to: number }) {
  const { f } = useView()
  return (
    <span class="pct" title={`${f.percent(from, 4)}% – ${f.percent(to, 4)}%`}>
      <data value={from}>{f.percent(from)}</data> – <data value={to}>{f.percent(to)}</data>
      <span class="unit">%</span>
    </span>
  )
}

/** A change in percentage points: arrow and colour show its direction. @param note what it is compared with */
export function Change({ points, note }: { points: number; note?: string }) {
  const { t, f } = useView()
  const text = f.percent(points)
  const direction = directionOf(text)
  return (
    <span class={`change ${direction}`}>
      <span aria-hidden="true">{{ up: '▲', down: '▼', flat: '' }[direction]}</span>
      <data value={points} title={`${f.percent(points, 4)}${t.points}`}>
        {text}
        {t.points}
      </data>
      {note && <span class="note"> {note}</span>}
    </span>
  )
}

/** The direction that the sign of a rounded value shows. */
function directionOf(text: string): 'up' | 'down' | 'flat' {
  return text.startsWith('+') ? 'up' : text.startsWith('−') ? 'down' : 'flat'
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
  /** Beside the value. */
  readonly asOf?: string
  /** Below the value. */
  readonly hint?: string
  readonly children: ComponentChildren
}

/** A named value in a description list. */
export function Figure({ name, note, asOf, hint, children }: FigureProps) {
  return (
    <div>
      <dt>
        {name}
        {note && <span class="note"> · {note}</span>}
      </dt>
      <dd>
        {children}
        {asOf && <span class="note"> {asOf}</span>}
        {hint && <span class="hint">{hint}</span>}
      </dd>
    </div>
  )
}
