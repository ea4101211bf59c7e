import type { Language } from './language.ts'

const MINUS = '−'
const KST_MS = 9 * 3_600_000

/** Numbers and times as a language writes them. */
export interface Formats {
  /** Percent in two parts, the digits that matter and the rest: `+1.23` and `45`. */
  percent(value: number): readonly [string, string]
  /** A plain number with so many decimals. */
  number(value: number, digits?: number): string
  /** A price, with every digit the exchange gave. */
  price(value: number): string
  /** An amount of won that was calculated: no more digits than matter, with a sign where it is a difference. */
  won(value: number, isDifference?: boolean): string
  /** How long ago, from milliseconds: seconds, minutes, hours or days. */
  age(ms: number): string
  /** `13:05 UTC`, in Korean `22:05 KST`; with the date when it is another day than `now`. */
  time(ms: number, now: number): string
  /** The same in UTC, whatever the language. */
  utc(ms: number, now: number): string
}

/** Formats of a language. */
export function createFormats(language: Language): Formats {
  const price = new Intl.NumberFormat(language, { maximumFractionDigits: 12 })
  const percent = new Intl.NumberFormat(language, {
    signDisplay: 'exceptZero',
    minimumFractionDigits: 4,
    maximumFractionDigits: 4,
  })
  const unit = (name: string) =>
    new Intl.NumberFormat(language, {
      style: 'unit',
      unit: name,
      unitDisplay: language === 'ko' ? 'narrow' : 'short',
    })
  const units = { second: unit('second'), minute: unit('minute'), hour: unit('hour'), day: unit('day') }
  const utc = (ms: number, now: number) => `${clock(ms, now)} UTC`
  return {
    percent: value => {
      const text = percent.format(value).replace('-', MINUS)
      return [text.slice(0, -2), text.slice(-2)]
    },
    number: (value, digits = 2) =>
      value
        .toLocaleString(language, { minimumFractionDigits: digits, maximumFractionDigits: digits })
        .replace('-', MINUS),
    price: value => price.format(value),
    won: (value, isDifference = false) =>
      value
        .toLocaleString(language, {
          signDisplay: isDifference ? 'exceptZero' : 'auto',
          ...(Math.abs(value) >= 100
            ? { maximumFractionDigits: 0 }
            : { maximumSignificantDigits: isDifference ? 3 : 4 }),
        })
        .replace('-', MINUS),
    age: ms => {
      const seconds = Math.max(0, Math.floor(ms / 1_000))
      if (seconds < 120) return units.second.format(seconds)
      if (seconds < 7_200) return units.minute.format(Math.floor(seconds / 60))
      if (seconds < 172_800) return units.hour.format(Math.floor(seconds / 3_600))
      return units.day.format(Math.floor(seconds / 86_400))
    },
    time: language === 'ko' ? (ms, now) => `${clock(ms + KST_MS, now + KST_MS)} KST` : utc,
    utc,
  }
}

/** `13:05`, with the date when it is another day than `now`. */
function clock(ms: number, now: number): string {
  const iso = new Date(ms).toISOString()
  const isToday = iso.slice(0, 10) === new Date(now).toISOString().slice(0, 10)
  return `${isToday ? '' : `${iso.slice(0, 10)} `}${iso.slice(11, 16)}`
}
