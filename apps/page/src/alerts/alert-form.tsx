import { useState } from 'preact/hooks'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'
import { targetName } from './alert.ts'
import { permission } from './notify.ts'

/** The alert that is set, which opens the form that sets it. @param target a symbol, or the median */
export function AlertForm({ target }: { target: string }) {
  const { t, alerts } = useView()
  const [{ [target]: alert, ...others }, setAlerts] = alerts
  const [allowed, setAllowed] = useState(permission)
  const name = fill(t.alertOf, targetName(target, t))
  const save = (event: Event & { currentTarget: HTMLFormElement }) => {
    event.preventDefault()
    const entered = new FormData(event.currentTarget)
    const isAbove = entered.get('direction') === 'above'
    setAlerts({ ...others, [target]: { isAbove, threshold: Number(entered.get('threshold')) } })
    if (allowed === 'default') void Notification.requestPermission().then(setAllowed)
  }
  return (
    <details class="alert">
      <summary title={name}>
        {t.alert}
        {alert && ` ${alert.isAbove ? '≥' : '≤'} ${alert.threshold}%`}
      </summary>
      <form onSubmit={save} aria-label={name}>
        <p>{name}</p>
        {/* Some keyboards for numbers have no minus. */}
        <input
          type="number"
          inputMode="text"
          name="threshold"
          aria-label={t.alertThreshold}
          placeholder="3.5"
          step="any"
          min={-1_000}
          max={1_000}
          required
          defaultValue={alert && `${alert.threshold}`}
        />
        <select name="direction" aria-label={t.alertDirection}>
          <option value="above">{t.orAbove}</option>
          <option value="below" selected={alert?.isAbove === false}>
            {t.orBelow}
          </option>
        </select>
        <button type="submit">{t.alertSet}</button>
        {alert && (
          <button type="button" onClick={() => setAlerts(others)}>
            {t.alertRemove}
          </button>
        )}
        <p class="hint">{allowed === 'denied' ? t.alertTitleOnly : t.alertHint}</p>
      </form>
    </details>
  )
}
