import type { ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'
import { targetName } from './alert.ts'

/** Loads and opens the form of an alert; shows the alert that is set. @param target a symbol, or the median */
export function AlertButton({ target }: { target: string }) {
  const { t, alerts } = useView()
  const [form, setForm] = useState<{ readonly Form: ComponentType<{ target: string }> }>()
  const alert = alerts.all[target]
  const toggle = async () => {
    if (form) setForm(undefined)
    else setForm({ Form: (await import('./alert-form.tsx')).AlertForm })
  }
  return (
    <div class="alert">
      <button
        type="button"
        title={fill(t.alertOf, targetName(target, t))}
        aria-expanded={form !== undefined}
        onClick={toggle}
      >
        {t.alert}
        {alert && ` ${alert.isAbove ? '≥' : '≤'} ${alert.threshold}%`}
      </button>
      {form && <form.Form target={target} />}
    </div>
  )
}
