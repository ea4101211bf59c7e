/**
 * The contract, in one place: these schemas validate requests, describe responses with examples in
 * `docs/openapi.json`, and give the TypeScript types by {@link FromSchema}. They leave room for fields to be
 * added; the tests hold every response to the fields named here.
 */

const field = <const T extends string>(type: T, description: string, example: string | number) =>
  ({ type, description, examples: [example] }) as const

const percent = (meaning: string, example: number) =>
  field('number', `${meaning} in percent, rounded to 4 decimals; a discount is negative.`, example)

const timestamp = (meaning: string) =>
  ({
    ...field('string', `${meaning}, UTC without zone: \`YYYY-MM-DDTHH:MM:SS\`.`, '2026-11-20T13:05:00'),
    pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}$',
  }) as const

const ok = { type: 'string', const: 'ok', description: 'An error says `error` here.' } as const

const symbol = field('string', 'Coin ticker symbol, upper case.', 'BTC')

const name = field('string', 'Coin display name.', 'Bitcoin')

/** An object with all of these properties. */
export function objectOf<const P extends object>(properties: P) {
  return { type: 'object', properties, required: Object.keys(properties) } as const
}

/** A coin ticker as the path may have it, in any letter case. */
export const symbolSchema = {
  ...field('string', 'Coin ticker symbol, any letter case; answered in upper case.', 'BTC'),
  pattern: '^[A-Za-z0-9]{1,20}$',
} as const

/** How many rows of a history, the newest ones. */
export const daysSchema = {
  type: 'integer',
  minimum: 1,
  maximum: 3650,
  default: 365,
  examples: [30],
} as const

/** One coin of the live list. */
const liveRowSchema = objectOf({
  symbol,
  name,
  premium_pct: percent('Premium', 1.2341),
  upbit_krw: field('number', 'Price on Upbit in KRW, last trade.', 143_500_000),
  binance_usdt: field('number', 'Price on Binance in USDT, last trade.', 101_250.5),
  usdt_krw: field('number', 'KRW per USDT used for the conversion (Upbit KRW-USDT).', 1_400),
  snapshot_at: timestamp('Minute of this row (before `updated_at` if the coin has no newer data)'),
})

/** Body of the live route. */
export const liveListSchema = objectOf({
  result: ok,
  updated_at: timestamp('The newest minute in `data`'),
  count: field('integer', 'Number of elements in `data`.', 1),
  note: field(
    'string',
    'For people. Begins with `SIMULATED PRICES` when no price is real.',
    'Premium is USDT-based (Upbit KRW-USDT last price). Times are UTC.',
  ),
  data: { type: 'array', items: liveRowSchema, description: 'One element per coin.' },
})

/** One day of a coin's history. */
const dailyRowSchema = objectOf({
  date: { ...field('string', 'Calendar date in UTC.', '2026-11-20'), pattern: '^\\d{4}-\\d{2}-\\d{2}$' },
  open_pct: percent('Premium of the day’s first minute', 1.1021),
  high_pct: percent('Highest premium of the day', 1.5),
  low_pct: percent('Lowest premium of the day', 0.9124),
  close_pct: percent('Premium of the day’s last minute so far', 1.2341),
  avg_pct: percent('Mean premium of the day’s minutes', 1.1873),
  samples: field('integer', 'Minutes that make up the day; 1440 is a whole day.', 786),
})

/** Body of the daily route. */
export const historySchema = objectOf({
  result: ok,
  symbol,
  name,
  count: field('integer', 'Number of elements in `data`.', 1),
  data: { type: 'array', items: dailyRowSchema, description: 'Ascending by date; the last may be today.' },
})

/** The TypeScript type of the values that a schema of this file allows. */
type FromSchema<S> = S extends { readonly const: infer C }
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
