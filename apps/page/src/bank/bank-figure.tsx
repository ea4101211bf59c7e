import { PopoverForm } from '../popover-form.tsx'
import { fill } from '../text/language.ts'
import { Figure } from '../values.tsx'
import { useNow, useView } from '../view.ts'
import { isOld, parseRate } from './bank-rate.ts'

/** The bank's rate that the reader has entered, with its age, and the form to enter it. */
export function BankFigure() {
  const { t, f, bank, ago } = useView()
  const [rate, setRate] = bank
  const age = useNow(() => {
    const text = rate && ago(Date.now() - rate.at)
    return rate && isOld(rate, Date.now()) ? `${t.old}, ${text}` : text
  })
  const submit = (entered: FormData) => {
    const text = `${entered.get('rate')}`.trim()
    const krw = parseRate(text)
    if (krw === undefined) return `${t.bankRate}: ${fill(t.bankRefused, text)}`
    setRate({ krw, at: Date.now() })
    return undefined
  }
  const form = (
    <PopoverForm kind="bank" label={rate ? f.price(rate.krw) : t.set} name={t.bankRate} onSubmit={submit}>
      <label>
        <input name="rate" inputMode="decimal" placeholder="1,380" defaultValue={rate && f.price(rate.krw)} />{' '}
        KRW
      </label>
      <button type="submit">{t.set}</button>
      {rate && (
        <button type="button" onClick={() => setRate(undefined)}>
          {t.remove}
        </button>
      )}
      <p class="hint">{t.bankHint}</p>
    </PopoverForm>
  )
  return <Figure name={t.bankRate} note={age} value={form} />
}
