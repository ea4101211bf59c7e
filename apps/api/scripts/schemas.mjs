/**
 * The schemas of the contract, with examples. They leave room for fields to be added; the tests hold every
 * response to the fields named here, and the types of packages/client have the same ones.
 */

/** @param {string} type @param {string} description @param {string | number} example */
const field = (type, description, example) => ({ type, description, examples: [example] })

/** @param {string} meaning @param {number} example */
const percent = (meaning, example) =>
  field('number', `${meaning} in percent, rounded to 4 decimals; a discount is negative.`, example)

/** @param {string} meaning */
const timestamp = meaning => ({
  ...field('string', `${meaning}, UTC without zone: \`YYYY-MM-DDTHH:MM:SS\`.`, '2026-11-20T13:05:00'),
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}$',
})

const ok = { type: 'string', const: 'ok', description: 'An error says `error` here.' }

const symbol = field('string', 'Coin ticker symbol, upper case.', 'BTC')

const name = field('string', 'Coin display name.', 'Bitcoin')

/** An object with all of these properties. @param {object} properties */
function objectOf(properties) {
  return { type: 'object', properties, required: Object.keys(properties) }
}

/**
 * A coin ticker as the path may have it, and how many of the newest rows of a history are asked for.
 * @param {Pick<import('./openapi-document.mjs').Contract, 'SYMBOL' | 'DAYS'>} contract
 */
export function parameterSchemas({ SYMBOL, DAYS }) {
  const description = 'Coin ticker symbol, any letter case; answered in upper case.'
  return {
    symbolSchema: { ...field('string', description, 'BTC'), pattern: SYMBOL.source },
    daysSchema: { type: 'integer', ...DAYS, examples: [30] },
  }
}

/**
 * Body of every response that is not 200, 204 or 304.
 * @param {Pick<import('./openapi-document.mjs').Contract, 'ERRORS'>} contract
 */
export function errorSchema({ ERRORS }) {
  return objectOf({
    result: { type: 'string', const: 'error' },
    code: {
      type: 'string',
      examples: Object.keys(ERRORS),
      description: 'Stable, for programs. Others may be added.',
    },
    message: { type: 'string', description: 'For people; may change.' },
  })
}

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
