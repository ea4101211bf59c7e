import { useView } from './view.ts'

/** A premium: sign and arrow say its direction, colour only repeats it. The last two digits step back. */
export function Percent({ value, arrow = false }: { value: number; arrow?: boolean }) {
  const { f } = useView()
  const [digits, rest] = f.percent(value)
  return (
    <data class={arrow ? `pct ${directionOf(value)}` : 'pct'} value={value}>
      {arrow && <span aria-hidden="true">{value > 0 ? '▲' : value < 0 ? '▼' : ''}</span>}
      {digits}
      <small>{rest}</small>%
    </data>
  )
}

/** `up`, `down` or `flat`. */
export function directionOf(value: number): string {
  return value > 0 ? 'up' : value < 0 ? 'down' : 'flat'
}
