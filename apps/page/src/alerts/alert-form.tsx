import { useId, useRef, useState } from 'preact/hooks'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'
import { type Band, targetName } from './alert.ts'
import { permission } from './notify.ts'

const BOUNDS = [
  ['above', '≥', '3.5'],
  ['below', '≤', '-1.5'],
] as const

/** The alert that is set, which opens the form that sets it. @param target a symbol, or the median */
export function AlertForm({ target }: { target: string }) {
  const { t, alerts } = useView()
  const [{ [target]: band, ...others }, setAlerts] = alerts
  const [allowed, setAllowed] = useState(permission)
  const opener = useRef<HTMLButtonElement>(null)
  const form = useRef<HTMLFormElement>(null)
  const id = useId()
  const name = fill(t.alertOf, targetName(target, t))
  const set = (bounds: Band) => {
    const isSet = bounds.above !== undefined || bounds.below !== undefined
    setAlerts(isSet ? { ...others, [target]: bounds } : others)
    form.current?.hidePopover()
    if (isSet && allowed === 'default') void Notification.requestPermission().then(setAllowed)
  }
  const submit = (event: Event & { currentTarget: HTMLFormElement }) => {
    event.preventDefault()
    const entered = new FormData(event.currentTarget)
    const bound = (name: keyof Band) => (entered.get(name) === '' ? undefined : Number(entered.get(name)))
    set({ above: bound('above'), below: bound('below') })
  }
  // What lies above all else has no place of its own below the button.
  const place = () => {
    const { bottom, right } = opener.current?.getBoundingClientRect() ?? new DOMRect()
    const at = {
      top: `${bottom + scrollY + 6}px`,
      right: `${document.documentElement.clientWidth - right}px`,
    }
    if (form.current) Object.assign(form.current.style, at)
  }
  return (
    <div class="alert">
      <button ref={opener} type="button" title={name} popoverTarget={id}>
        {t.alert}
        {BOUNDS.map(([bound, sign]) => band?.[bound] !== undefined && ` ${sign} ${band[bound]}%`)}
      </button>
      <form ref={form} id={id} popover="auto" onToggle={place} onSubmit={submit} aria-label={name}>
        <p>{name}</p>
        {BOUNDS.map(([bound, , example]) => (
          <label key={bound}>
            {/* Some keyboards for numbers have no minus. */}
            <input
              type="number"
              inputMode="text"
              name={bound}
              placeholder={example}
              step="any"
              min={-1_000}
              max={1_000}
              defaultValue={`${band?.[bound] ?? ''}`}
            />
            % {t[bound]}
          </label>
        ))}
        <button type="submit">{t.alertSet}</button>
        {band && (
          <button type="button" onClick={() => set({})}>
            {t.alertRemove}
          </button>
        )}
        <p class="hint">{allowed === 'denied' ? t.alertTitleOnly : t.alertHint}</p>
      </form>
    </div>
  )
}
