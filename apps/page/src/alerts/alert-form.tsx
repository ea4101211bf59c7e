import { useState } from 'preact/hooks'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'
import { MEDIAN, parseThreshold } from './alert.ts'
import { askPermission, permission } from './notify.ts'
import type { AlertsOnDevice } from './use-alerts.ts'

/** Which alert a form is for. */
export interface AlertFormProps {
  /** Symbol, or the median. */
  readonly target: string
  readonly alerts: AlertsOnDevice
}

/** Sets and removes the alert of a coin, or of the median. */
export function AlertForm({ target, alerts }: AlertFormProps) {
  const { t } = useView()
  const alert = alerts.all[target]
  const [isAbove, setAbove] = useState(alert?.isAbove ?? true)
  const [text, setText] = useState(String(alert?.threshold ?? ''))
  const [allowed, setAllowed] = useState(permission)
  const name = fill(t.alertOf, target === MEDIAN ? t.median : target)
  const threshold = parseThreshold(text)
  const save = (event: Event) => {
    event.preventDefault()
    if (threshold === undefined) return
    alerts.set(target, { isAbove, threshold })
    void askPermission().then(setAllowed)
  }
  return (
    <form onSubmit={save} aria-label={name}>
      <p>{name}</p>
      <input
        inputMode="text"
        aria-label={t.alertThreshold}
        placeholder="3.5"
        value={text}
        onInput={event => setText(event.currentTarget.value)}
      />
      <select
        aria-label={t.alertDirection}
        value={isAbove ? 'above' : 'below'}
        onChange={event => setAbove(event.currentTarget.value === 'above')}
      >
        <option value="above">{t.orAbove}</option>
        <option value="below">{t.orBelow}</option>
      </select>
      <button type="submit" disabled={threshold === undefined}>
        {t.alertSet}
      </button>
      {alert && (
        <button type="button" onClick={() => alerts.set(target, undefined)}>
          {t.alertRemove}
        </button>
      )}
      <p class="hint">{allowed === 'granted' || allowed === 'default' ? t.alertHint : t.alertTitleOnly}</p>
    </form>
  )
}
