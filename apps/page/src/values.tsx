import type { CoinPremium } from '@kimchi/client'
import type { ComponentChildren } from 'preact'
import { type AmountColumn, COLUMNS } from './table/rows.ts'
import { wonOf } from './table/won.ts'
import { fill } from './text/language.ts'
import { useView } from './view.ts'

/** A premium, rounded: its sign tells premium from discount, colour only repeats it. Its title is the whole value. */
export function Percent({ value, isColoured = false }: { value: number; isColoured?: boolean }) {
  const { f } = useView()
  const text = f.signed(value)
  return (
    <data
      class={isColoured ? `pct ${directionOf(text)}` : 'pct'}
      value={value}
      title={`${f.signed(value, 4)}%`}
    >
      {text}
      <span class="unit">%</span>
    </data>
  )
}

/** A change in percentage points: arrow and colour show its direction. @param note what it is compared with */
export function Change({ points, note }: { points: number; note?: string }) {
  const { t, f } = useView()
  const text = f.signed(points)
  const direction = directionOf(text)
  return (
    <span class={`change ${direction}`}>
      <span aria-hidden="true">{{ up: '▲', down: '▼', flat: '' }[direction]}</span>
      <data value={points} title={`${f.signed(points, 4)}${t.points}`}>
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

/** A price of a coin, or the gap between two of its prices, as its column writes it. */
export function Amount({ coin, column }: { coin: CoinPremium; column: AmountColumn }) {
  const { f } = useView()
  const value = COLUMNS[column](coin)
  const { decimals } = wonOf(coin)
  const text =
    column === 'gap'
      ? f.signed(value, decimals)
      : column === 'binance'
        ? f.number(value, decimals)
        : f.price(value)
  return <data value={value}>{text}</data>
}

/** Says of a value that it is not current, and since when. */
export function Stale({ at }: { at: string }) {
  const { t, timeOf } = useView()
  return <span class="why">{fill(t.stale, timeOf(at))}</span>
}

interface FigureProps {
  readonly name: string
  readonly value: ComponentChildren
  /** Beside the name. */
  readonly note?: ComponentChildren
  /** Below the value. */
  readonly hint?: string
}

/** A named value in a description list. */
export function Figure({ name, value, note, hint }: FigureProps) {
  return (
    <div>
      <dt>
        {name}
        {note && <span class="note"> · {note}</span>}
      </dt>
      <dd>
        {value}
        {hint && <span class="hint">{hint}</span>}
      </dd>
    </div>
  )
}
