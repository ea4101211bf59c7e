import { addressOf, RANGES } from '../route.ts'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'

const ALL = RANGES.all

export interface RangeSwitchProps {
  readonly symbol: string
  readonly range: number
  /** How many days there are in all; undefined while that is unknown. */
  readonly total: number | undefined
  readonly hasAverage: boolean
  readonly onAverage: (hasAverage: boolean) => void
}

/** The ranges as buttons; a range that would show no more than a shorter one is disabled. */
export function RangeSwitch({ symbol, range, total = ALL, hasAverage, onAverage }: RangeSwitchProps) {
  const { t, f } = useView()
  const shown = range >= total ? ALL : range
  return (
    <div class="ranges">
      <fieldset>
        <legend class="unseen">{t.range}</legend>
        {Object.values(RANGES).map(days => (
          <button
            key={days}
            type="button"
            aria-pressed={days === shown}
            disabled={days !== ALL && days >= total}
            onClick={() => location.replace(addressOf(symbol, days))}
          >
            {days === ALL ? t.all : fill(t.days, f.number(days, 0))}
          </button>
        ))}
      </fieldset>
      <button type="button" aria-pressed={hasAverage} onClick={() => onAverage(!hasAverage)}>
        {t.movingAverage}
      </button>
    </div>
  )
}
