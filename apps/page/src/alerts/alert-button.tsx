import { useState } from 'preact/hooks'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'
import { targetName } from './alert.ts'
import { AlertForm } from './alert-form.tsx'

/** Opens the form of an alert; shows the alert that is set. @param target a symbol, or the median */
export function AlertButton({ target }: { target: string }) {
  const { t, alerts } = useView()
  const [isOpen, setOpen] = useState(false)
  const alert = alerts[0][target]
  return (
    <div class="alert">
      <button
        type="button"
        title={fill(t.alertOf, targetName(target, t))}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {t.alert}
        {alert && ` ${alert.isAbove ? '≥' : '≤'} ${alert.threshold}%`}
      </button>
      {isOpen && <AlertForm target={target} />}
    </div>
  )
}
