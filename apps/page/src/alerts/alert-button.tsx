import type { ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'
import { targetName } from './alert.ts'

/** Loads and opens the form of an alert; shows the alert that is set. @param target a symbol, or the median */
export function AlertButton({ target }: { target: string }) {
  const { t, alerts } = useView()
  const [Form, setForm] = useState<ComponentType<{ target: string }>>()
  const alert = alerts[0][target]
  const toggle = async () => {
    const next = Form ? undefined : (await import('./alert-form.tsx')).AlertForm
    setForm(() => next)
  }
  return (
    <div class="alert">
      <button
        type="button"
        title={fill(t.alertOf, targetName(target, t))}
        aria-expanded={Form !== undefined}
        onClick={toggle}
      >
        {t.alert}
        {alert && ` ${alert.isAbove ? '≥' : '≤'} ${alert.threshold}%`}
      </button>
      {Form && <Form target={target} />}
    </div>
  )
}
