import { RANGES } from '../route.ts'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'

/** The ranges as buttons. @param props `range`: the days shown */
export function RangeSwitch({ symbol, range }: { symbol: string; range: number }) {
  const { t, f } = useView()
  return (
    <fieldset class="ranges">
      <legend class="unseen">{t.range}</legend>
      {RANGES.map(days => (
        <button
          key={days}
          type="button"
          aria-pressed={days === range}
          onClick={() => location.replace(`#/${symbol}/${days}`)}
        >
          {days === RANGES.at(-1) ? t.all : fill(t.days, f.number(days, 0))}
        </button>
      ))}
    </fieldset>
  )
}
