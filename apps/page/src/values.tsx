import { useView } from './view.ts'

/** A premium: its sign tells premium from discount, colour only repeats it. The last two digits step back. */
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

/** A change in percentage points: the arrow says where it went, and so does the colour. */
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
