/**
 * The contract, in one place: these schemas validate requests, describe responses in `docs/openapi.json`,
 * and give the TypeScript types by {@link FromSchema}. They leave room for fields to be added; the tests hold
 * what is sent to the fields named here.
 */

const timestamp = {
  type: 'string',
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}$',
  description: 'UTC, without zone designator: `YYYY-MM-DDTHH:MM:SS`.',
} as const

const percent = {
  type: 'number',
  description: 'Percent, rounded to 4 decimals; negative is a discount.',
} as const

/** An object with all of these properties. */
export function objectOf<const P extends object>(properties: P) {
  return { type: 'object', properties, required: Object.keys(properties) } as const
}

/** A coin ticker as the path may have it, in any letter case. */
export const symbolSchema = {
  type: 'string',
  pattern: '^[A-Za-z0-9]{1,20}$',
  description: 'Coin ticker symbol, any letter case; answered in upper case.',
} as const

/** How many of the newest rows of a history are wanted. */
export const daysSchema = {
  type: 'integer',
  minimum: 1,
  maximum: 3650,
  default: 365,
  description: 'The newest N rows.',
} as const

/** One coin of the live list. */
export const liveRowSchema = objectOf({
  symbol: { type: 'string', description: 'Coin ticker symbol, upper case.' },
  name: { type: 'string', description: 'Coin display name.' },
  premium_pct: percent,
  upbit_krw: { type: 'number', description: 'Price on Upbit in KRW, last trade.' },
  binance_usdt: { type: 'number', description: 'Price on Binance in USDT, last trade.' },
  usdt_krw: { type: 'number', description: 'USDT price in KRW used for the conversion (Upbit KRW-USDT).' },
  snapshot_at: timestamp,
})

/** Body of the live route. */
export const liveListSchema = objectOf({
  result: { type: 'string', const: 'ok' },
  updated_at: timestamp,
  count: { type: 'integer', description: 'Number of elements in `data`.' },
  note: { type: 'string' },
  data: { type: 'array', items: liveRowSchema },
})

/** One day of a coin's history. */
export const dailyRowSchema = objectOf({
  date: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$', description: 'Calendar date in UTC.' },
  open_pct: percent,
  high_pct: percent,
  low_pct: percent,
  close_pct: percent,
  avg_pct: percent,
  samples: { type: 'integer', description: 'Samples that make up the day; 1440 is a whole day.' },
})

/** Body of the daily route. */
export const historySchema = objectOf({
  result: { type: 'string', const: 'ok' },
  symbol: { type: 'string' },
  name: { type: 'string' },
  count: { type: 'integer', description: 'Number of elements in `data`.' },
  data: { type: 'array', items: dailyRowSchema, description: 'Ascending by date; the last may be today.' },
})

/** The TypeScript type of the values that a schema of this file allows. */
export type FromSchema<S> = S extends { readonly const: infer C }
  ? C
  : S extends { readonly type: 'string' }
    ? string
    : S extends { readonly type: 'number' | 'integer' }
      ? number
      : S extends { readonly type: 'array'; readonly items: infer I }
        ? readonly FromSchema<I>[]
        : S extends { readonly type: 'object'; readonly properties: infer P }
          ? { readonly [K in keyof P]: FromSchema<P[K]> }
          : never

/** One coin of the live route. */
export type LiveRow = FromSchema<typeof liveRowSchema>
/** One day of the daily route. */
export type DailyRow = FromSchema<typeof dailyRowSchema>
/** Body of the live route. */
export type LiveList = FromSchema<typeof liveListSchema>
/** Body of the daily route. */
export type History = FromSchema<typeof historySchema>
