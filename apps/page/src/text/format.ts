import type { Language } from './language.ts'

const MINUS = '−'
const KST_MS = 9 * 3_600_000

/** Numbers and times as a language writes them. */
export type Formats = ReturnType<typeof createFormats>

/** The formats of a language. */
export function createFormats(language: Language) {
  const write = (value: number, options: Intl.NumberFormatOptions) =>
    value.toLocaleString(language, options).replace('-', MINUS)
  const price = new Intl.NumberFormat(language, { maximumFractionDigits: 12 })
  const unit = (name: string) =>
    new Intl.NumberFormat(language, {
      style: 'unit',
      unit: name,
      unitDisplay: language === 'ko' ? 'narrow' : 'short',
    })
  const units = { second: unit('second'), minute: unit('minute'), hour: unit('hour'), day: unit('day') }
  const utc = (ms: number, now: number) => `${clock(ms, now)} UTC`
  return {
    /** Percent, rounded: `+1.24`. Without a sign where nothing but zeros is left. */
    percent: (value: number, digits = 2) =>
      write(value, {
        signDisplay: 'exceptZero',
        minimumFractionDigits: digits,
        maximumFractionDigits: digits,
      }),
    /** A plain number with this many decimals. */
    number: (value: number, digits: number) =>
      write(value, { minimumFractionDigits: digits, maximumFractionDigits: digits }),
    /** A price, with every digit that the exchange gave. */
    price: (value: number) => price.format(value),
    /** A calculated amount of won: no more digits than matter, a difference with its sign. */
    won: (value: number, isDifference = false) =>
      write(value, {
        signDisplay: isDifference ? 'exceptZero' : 'auto',
        ...(Math.abs(value) >= 100
          ? { maximumFractionDigits: 0 }
          : { maximumSignificantDigits: isDifference ? 3 : 4 }),
      }),
    /** How long ago, from milliseconds: seconds, minutes, hours or days. */
    age: (ms: number) => {
      const seconds = Math.max(0, Math.floor(ms / 1_000))
      if (seconds < 120) return units.second.format(seconds)
      if (seconds < 7_200) return units.minute.format(Math.floor(seconds / 60))
      if (seconds < 172_800) return units.hour.format(Math.floor(seconds / 3_600))
      return units.day.format(Math.floor(seconds / 86_400))
    },
    /** `13:05 UTC`, in Korean `22:05 KST`; with the date when `now` is on another day. */
    time: language === 'ko' ? (ms: number, now: number) => `${clock(ms + KST_MS, now + KST_MS)} KST` : utc,
    /** The same in UTC, whatever the language. */
    utc,
  }
}

/** `13:05`, with the date when `now` is on another day. */
function clock(ms: number, now: number): string {
  const iso = new Date(ms).toISOString()
  const isToday = iso.slice(0, 10) === new Date(now).toISOString().slice(0, 10)
  return `${isToday ? '' : `${iso.slice(0, 10)} `}${iso.slice(11, 16)}`
}
