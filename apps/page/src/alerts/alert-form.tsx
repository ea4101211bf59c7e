import { useState } from 'preact/hooks'
import { PopoverForm } from '../popover-form.tsx'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'
import { type Band, BOUNDS, SIGNS, targetName } from './alert.ts'
import { permission } from './notify.ts'

const boundsOf = (band: Band | undefined) =>
  BOUNDS.flatMap(bound => (band?.[bound] === undefined ? [] : `${SIGNS[bound]} ${band[bound]}%`))

/** The alert that is set, which opens the form that sets it and has every alert. @param target a symbol, or the median */
export function AlertForm({ target }: { target: string }) {
  const { t, alerts } = useView()
  const [set, setAlerts] = alerts
  const [allowed, setAllowed] = useState(permission)
  const band = set[target]
  const without = (removed: string) =>
    Object.fromEntries(Object.entries(set).filter(([target]) => target !== removed))
  const submit = (entered: FormData) => {
    const bound = (name: keyof Band) => (entered.get(name) === '' ? undefined : Number(entered.get(name)))
    const next = { above: bound('above'), below: bound('below') }
    const isSet = boundsOf(next).length > 0
    setAlerts(isSet ? { ...set, [target]: next } : without(target))
    if (isSet && allowed === 'default') void Notification.requestPermission().then(setAllowed)
    return undefined
  }
  const label = [t.alert, ...boundsOf(band)].join(' ')
  return (
    <PopoverForm kind="alert" label={label} name={fill(t.alertOf, targetName(target, t))} onSubmit={submit}>
      {BOUNDS.map(bound => (
        <label key={`${bound} ${band?.[bound]}`}>
          {/* Some keyboards for numbers have no minus. */}
          <input
            type="number"
            inputMode="text"
            name={bound}
            placeholder={bound === 'above' ? '3.5' : '-1.5'}
            step="any"
            min={-1_000}
            max={1_000}
            defaultValue={`${band?.[bound] ?? ''}`}
          />
          % {t[bound]}
        </label>
      ))}
      <button type="submit">{t.set}</button>
      <ul>
        {Object.entries(set).map(([target, band]) => (
          <li key={target}>
            {[targetName(target, t), ...boundsOf(band)].join(' ')}
            <button
              type="button"
              aria-label={`${targetName(target, t)}: ${t.remove}`}
              onClick={() => setAlerts(without(target))}
            >
              {t.remove}
            </button>
          </li>
        ))}
      </ul>
      <p class="hint">{allowed === 'denied' ? t.alertTitleOnly : t.alertHint}</p>
    </PopoverForm>
  )
}
