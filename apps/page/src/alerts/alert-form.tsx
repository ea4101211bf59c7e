import { useState } from 'preact/hooks'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'
import { parseThreshold, targetName } from './alert.ts'
import { permission } from './notify.ts'

export function AlertForm({ target }: { target: string }) {
  const { t, alerts } = useView()
  const [{ [target]: alert, ...others }, setAlerts] = alerts
  const [isAbove, setAbove] = useState(alert?.isAbove ?? true)
  const [text, setText] = useState(String(alert?.threshold ?? ''))
  const [allowed, setAllowed] = useState(permission)
  const name = fill(t.alertOf, targetName(target, t))
  const threshold = parseThreshold(text)
  const save = (event: Event) => {
    event.preventDefault()
    if (threshold === undefined) return
    setAlerts({ ...others, [target]: { isAbove, threshold } })
    if (allowed === 'default') void Notification.requestPermission().then(setAllowed)
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
        <button type="button" onClick={() => setAlerts(others)}>
          {t.alertRemove}
        </button>
      )}
      <p class="hint">{allowed === 'denied' ? t.alertTitleOnly : t.alertHint}</p>
    </form>
  )
}
