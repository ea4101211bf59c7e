import {
  type EpochMinute,
  type Exchange,
  formatTimestamp,
  isPrice,
  KimchiError,
  type Market,
  minuteOf,
  minuteStart,
  parseTimestamp,
} from '@kimchi/core'
import { priceOf } from '../binance.ts'
import { isFields } from '../feed/parse-frame.ts'

/** One 1-minute candle, compact because many are kept. As a sample, it is named by the minute at which it ends. */
export type MinuteCandle = readonly [minute: EpochMinute, close: number, volume: number]

/** Some candles, ascending, each minute at most once. */
export interface CandlePage {
  readonly candles: readonly MinuteCandle[]
  /** The minutes of rows that are no candles, undefined for one that may be of any. @default none */
  readonly unreadable?: readonly (EpochMinute | undefined)[]
  /** What is wrong with those rows. */
  readonly message?: string
}

/** Some candles of a market, the newest unless it says otherwise. */
export interface CandleRequest {
  readonly exchange: Exchange
  readonly market: Market
  /** At most 200 of Upbit, 1,000 of Binance. */
  readonly count: number
  /** The minute at which the last candle ends. @default that of the one still open, by the exchange's clock */
  readonly last?: EpochMinute
  /** The oldest candles that end at this minute or later, in place of the newest. Binance alone answers that. */
  readonly first?: EpochMinute
}

/**
 * A page with a row that is no candle, or with two different candles of one minute: another base may have a better one.
 * It says what its other rows say.
 */
export class UnreadableCandles extends KimchiError implements CandlePage {
  readonly candles: readonly MinuteCandle[]
  readonly unreadable: NonNullable<CandlePage['unreadable']>

  constructor(
    message: string,
    candles: readonly MinuteCandle[],
    unreadable: NonNullable<CandlePage['unreadable']>,
  ) {
    super('KIMCHI_ERR_REST', message)
    this.candles = candles
    this.unreadable = unreadable
  }
}

/** An entry of a list of candles, as far as each field can be read. */
interface Row {
  readonly open: EpochMinute | undefined
  readonly close: number | undefined
  readonly volume: number | undefined
}

/** How each entry of an exchange's answer is read. */
const ROWS: Readonly<Record<Exchange, (entry: unknown, market: Market) => Row>> = {
  upbit: (entry, market) => {
    const fields = isFields(entry) ? entry : {}
    const { candle_date_time_utc: date, trade_price: price, candle_acc_trade_volume: volume } = fields
    return {
      open: typeof date === 'string' ? parseTimestamp(date) : undefined,
      close: isPrice(price) && fields.market === market ? price : undefined,
      volume: isAmount(volume) ? volume : undefined,
    }
  },
  binance: entry => {
    const [openedAt, , , , close, volume] = Array.isArray(entry) ? entry : []
    return { open: wholeMinuteOf(openedAt), close: priceOf(close), volume: volumeOf(volume) }
  },
}

/**
 * The candles in an answer, up to the one of the minute asked for.
 * @throws UnreadableCandles unless each entry is a candle; KimchiError `KIMCHI_ERR_REST` for an answer that is no list
 */
export function readCandles(json: unknown, { exchange, market, last }: CandleRequest): MinuteCandle[] {
  const what = `${exchange} candles of ${market}: the response is no list of candles`
  if (!Array.isArray(json)) throw new KimchiError('KIMCHI_ERR_REST', what)
  const rows = json.map(entry => ROWS[exchange](entry, market))
  const contested = contestedOf(rows)
  const candles = new Map<EpochMinute, MinuteCandle>()
  const bad = new Set<Row>()
  for (const row of rows) {
    const { open, close, volume } = row
    const isWhole = open !== undefined && close !== undefined && volume !== undefined
    if (!isWhole || contested.has(open)) bad.add(row)
    else if (open < (last ?? Number.POSITIVE_INFINITY)) candles.set(open, [open + 1, close, volume])
  }
  const sorted = [...candles.values()].sort(([a], [b]) => a - b)
  const [first] = bad
  if (first === undefined) return sorted
  const where = first.open === undefined ? 'has no minute' : `is of ${formatTimestamp(first.open)}`
  const message = `${what}, ${bad.size} of its ${rows.length} rows cannot be read; the first ${where}`
  const unreadable = Array.from(bad, ({ open }) => (open === undefined ? undefined : open + 1))
  throw new UnreadableCandles(message, sorted, unreadable)
}

/** The minutes of which rows say different things. */
function contestedOf(rows: readonly Row[]): ReadonlySet<EpochMinute | undefined> {
  const seen = new Map<EpochMinute | undefined, Row>()
  const contested = new Set<EpochMinute | undefined>()
  for (const row of rows) {
    const { close, volume } = seen.get(row.open) ?? row
    if (close !== row.close || volume !== row.volume) contested.add(row.open)
    seen.set(row.open, row)
  }
  return contested
}

function wholeMinuteOf(at: unknown): EpochMinute | undefined {
  const minute = Number.isSafeInteger(at) ? minuteOf(Number(at)) : Number.NaN
  return minuteStart(minute) === at ? minute : undefined
}

/** JSON has numbers too large for ours, which become Infinity. */
function isAmount(value: unknown): value is number {
  return Number.isFinite(value) && Number(value) >= 0
}

/** An amount that Binance writes as a text of digits with at most one point between them, as it does a price. */
function volumeOf(text: unknown): number | undefined {
  return typeof text === 'string' && /^\d{1,40}(\.\d{1,40})?$/.test(text) ? Number(text) : undefined
}
