import type { ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'
import { MEDIAN } from './alert.ts'
import type { AlertFormProps } from './alert-form.tsx'

/** Opens the form of an alert, which is loaded then; shows the alert that is set. */
export function AlertButton(props: AlertFormProps) {
  const { t } = useView()
  const [form, setForm] = useState<{ readonly Form: ComponentType<AlertFormProps> }>()
  const { target, alerts } = props
  const alert = alerts.all[target]
  const toggle = async () => {
    if (form) setForm(undefined)
    else setForm({ Form: (await import('./alert-form.tsx')).AlertForm })
  }
  return (
    <div class="alert">
      <button
        type="button"
        title={fill(t.alertOf, target === MEDIAN ? t.median : target)}
        aria-expanded={form !== undefined}
        onClick={toggle}
      >
        {t.alert}
        {alert && ` ${alert.isAbove ? '≥' : '≤'} ${alert.threshold}%`}
      </button>
      {form && <form.Form {...props} />}
    </div>
  )
}
