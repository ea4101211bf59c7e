const MINUS = '−'
const KST_MS = 9 * 3_600_000

/** Languages of the page. */
export type Language = 'en' | 'ko'

/** Numbers and times as a language writes them. */
export type Formats = ReturnType<typeof createFormats>

export function createFormats(language: Language) {
  // Kept, because making one takes as long as writing fifty numbers, and a history has thousands.
  const made = new Map<string, Intl.NumberFormat>()
  const write = (value: number, options: Intl.NumberFormatOptions) => {
    const key = JSON.stringify(options)
    const format = made.get(key) ?? new Intl.NumberFormat(language, options)
    made.set(key, format)
    return format.format(value).replace('-', MINUS)
  }
  const fixed = (digits: number) => ({ minimumFractionDigits: digits, maximumFractionDigits: digits })
  const unitDisplay = language === 'ko' ? 'narrow' : 'short'
  const count = (value: number, unit: string) =>
    write(Math.floor(value), { style: 'unit', unit, unitDisplay })
  return {
    /** A percentage or a difference, rounded: `+1.24`. Without a sign where nothing but zeros is left. */
    signed: (value: number, digits = 2) => write(value, { signDisplay: 'exceptZero', ...fixed(digits) }),
    /** A plain number with this many decimals. */
    number: (value: number, digits: number) => write(value, fixed(digits)),
    /** A price, with every digit that the exchange gave. */
    price: (value: number) => write(value, { maximumFractionDigits: 12 }),
    /** How long ago, from milliseconds: seconds, minutes, hours or days. */
    age: (ms: number) => {
      const seconds = Math.max(0, ms / 1_000)
      if (seconds < 120) return count(seconds, 'second')
      if (seconds < 7_200) return count(seconds / 60, 'minute')
      if (seconds < 172_800) return count(seconds / 3_600, 'hour')
      return count(seconds / 86_400, 'day')
    },
    /** `13:05 UTC`, in Korean `22:05 KST`; with the date when `now` is on another day. */
    time: (ms: number, now: number) =>
      language === 'ko' ? `${clock(ms + KST_MS, now + KST_MS)} KST` : `${clock(ms, now)} UTC`,
  }
}

/** `13:05`, with the date when `now` is on another day. */
function clock(ms: number, now: number): string {
  const iso = new Date(ms).toISOString()
  const isToday = iso.slice(0, 10) === new Date(now).toISOString().slice(0, 10)
  return `${isToday ? '' : `${iso.slice(0, 10)} `}${iso.slice(11, 16)}`
}
