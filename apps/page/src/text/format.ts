import type { Language } from './language.ts'

const MINUS = '−'

/** Numbers and times as a language writes them. */
export interface Formats {
  /** Percent in two parts, the digits that matter and the rest: `+1.23` and `45`. */
  percent(value: number): readonly [string, string]
  /** A plain number with at most `digits` decimals. */
  number(value: number, digits?: number): string
  /** A price, with every digit the exchange gave. */
  price(value: number): string
  /** How long ago, from milliseconds: seconds, minutes, hours or days. */
  age(ms: number): string
  /** `13:05 UTC`, with the date when it is another day than `now`. */
  time(ms: number, now: number): string
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
    age: ms => {
      const seconds = Math.max(0, Math.floor(ms / 1_000))
      if (seconds < 120) return units.second.format(seconds)
      if (seconds < 7_200) return units.minute.format(Math.floor(seconds / 60))
      if (seconds < 172_800) return units.hour.format(Math.floor(seconds / 3_600))
      return units.day.format(Math.floor(seconds / 86_400))
    },
    time: (ms, now) => {
      const iso = new Date(ms).toISOString()
      const isToday = iso.slice(0, 10) === new Date(now).toISOString().slice(0, 10)
      return `${isToday ? '' : `${iso.slice(0, 10)} `}${iso.slice(11, 16)} UTC`
    },
  }
}
