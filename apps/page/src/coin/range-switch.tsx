import { addressOf, RANGES } from '../route.ts'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'

export interface RangeSwitchProps {
  readonly symbol: string
  readonly range: number
  readonly hasAverage: boolean
  readonly onAverage: (hasAverage: boolean) => void
}

/** The ranges as buttons. */
export function RangeSwitch({ symbol, range, hasAverage, onAverage }: RangeSwitchProps) {
  const { t, f } = useView()
  return (
    <div class="ranges">
      <fieldset>
        <legend class="unseen">{t.range}</legend>
        {Object.values(RANGES).map(days => (
          <button
            key={days}
            type="button"
            aria-pressed={days === range}
            onClick={() => location.replace(addressOf(symbol, days))}
          >
            {days === RANGES.all ? t.all : fill(t.days, f.number(days, 0))}
          </button>
        ))}
      </fieldset>
      <button type="button" aria-pressed={hasAverage} onClick={() => onAverage(!hasAverage)}>
        {t.movingAverage}
      </button>
    </div>
  )
}
