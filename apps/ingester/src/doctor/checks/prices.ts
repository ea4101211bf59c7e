import { type Coin, type EpochMs, type Market, messageOf, type Tick } from '@kimchi/core'
import { isFields } from '@kimchi/feeds'
import { fail, ok, someOf, unknown, type Verdict, worstOf } from '../finding.ts'
import { ask, type Instruments } from '../instruments.ts'
import type { Streams } from '../watched-stream.ts'

/** REST is asked when frames have come, and compared when the frames beside its answer have. */
const ASK_AFTER_MS = 5_000
const BESIDE_MS = 3_000

/** REST and stream may be a trade apart. */
const APART_SHARE = 0.005

/** What Binance says that each trading symbol costs. */
export interface BinancePrices {
  readonly prices: ReadonlyMap<Market, number>
  readonly answeredAt: EpochMs
}

/** Asks Binance which symbols trade, and at what price, as the service does once a minute. */
export async function askBinancePrices(instruments: Instruments): Promise<BinancePrices | undefined> {
  const { clock, signal } = instruments.context
  await clock.wait(ASK_AFTER_MS, signal)
  try {
    const { json } = await ask(instruments, 'binance', '/api/v3/ticker/price?symbolStatus=TRADING')
    const entries = [json].flat().filter(isFields)
    const prices = new Map(entries.map(({ symbol, price }) => [String(symbol), Number(price)]))
    return { prices, answeredAt: clock.now() }
  } catch {
    return undefined
  }
}

/** Compares the streams with REST, for all coins. */
export async function checkPrices(
  coins: readonly Coin[],
  { upbit, binance }: Streams,
  asked: Promise<BinancePrices | undefined>,
  instruments: Instruments,
): Promise<Verdict> {
  const { clock, signal } = instruments.context
  const upbitAnswer = asked
    .then(() => ask(instruments, 'upbit', '/v1/ticker/all?quote_currencies=KRW'))
    .then(
      ({ json }) => [json].flat().filter(isFields),
      thrown => messageOf(thrown),
    )
  const [binancePrices, trades] = await Promise.all([asked, upbitAnswer])
  await clock.wait(BESIDE_MS, signal)
  const onUpbit =
    typeof trades === 'string' ? unknown(`Upbit: ${trades}`) : compareTrades(coins, upbit.ticks, trades)
  const onBinance =
    binancePrices === undefined
      ? unknown('Binance did not answer')
      : comparePrices(coins, binance.ticks, binancePrices)
  return worstOf([onUpbit, onBinance])
}

/** Upbit says when a market traded last: the stream has that very trade, or one beside it. */
function compareTrades(
  coins: readonly Coin[],
  ticks: readonly Tick[],
  trades: readonly Readonly<Record<string, unknown>>[],
): Verdict {
  const lasts = new Map(
    trades.map(trade => [
      trade.market,
      { price: Number(trade.trade_price), at: Number(trade.trade_timestamp) },
    ]),
  )
  return judge('Upbit', coins, ({ upbit: market }) => {
    const last = lasts.get(market)
    const [first, ...rest] = ticks.filter(tick => tick.market === market)
    if (last === undefined || first === undefined) return undefined
    const distance = ({ tradedAt = 0, eventAt }: Tick) => Math.abs((tradedAt || eventAt) - last.at)
    const nearest = rest.reduce((best, tick) => (distance(tick) < distance(best) ? tick : best), first)
    const newest = rest.reduce((best, tick) => Math.max(best, tick.eventAt), first.eventAt)
    if (newest < last.at)
      return `${market} traded at ${timestampOf(last.at)}, its last frame is from ${timestampOf(newest)}`
    const isSame = distance(nearest) === 0 ? nearest.price === last.price : isNear(nearest.price, last.price)
    return isSame ? '' : `${market} ${nearest.price} in frames, ${last.price} by REST`
  })
}

/** Binance's REST price has no time: the stream has it at about the same time. */
function comparePrices(
  coins: readonly Coin[],
  ticks: readonly Tick[],
  { prices, answeredAt }: BinancePrices,
): Verdict {
  return judge('Binance', coins, ({ binance: market }) => {
    const price = prices.get(market)
    const known = ticks.filter(tick => tick.market === market && tick.receivedAt < answeredAt + BESIDE_MS)
    const beside = known.filter(({ receivedAt }) => receivedAt > answeredAt - BESIDE_MS)
    // A market that sends nothing keeps its last price.
    const candidates = beside.length > 0 ? beside : known.slice(-1)
    if (price === undefined || candidates.length === 0) return undefined
    if (candidates.some(tick => isNear(tick.price, price))) return ''
    return `${market} ${candidates.at(-1)?.price} in frames, ${price} by REST`
  })
}

/** @param compare what differs, '' when nothing does, undefined when a coin could not be compared */
function judge(name: string, coins: readonly Coin[], compare: (coin: Coin) => string | undefined): Verdict {
  const differences: string[] = []
  const uncompared: string[] = []
  for (const coin of coins) {
    const difference = compare(coin)
    if (difference === undefined) uncompared.push(coin.symbol)
    else if (difference !== '') differences.push(difference)
  }
  const seen = `${name}: ${coins.length - uncompared.length} of ${coins.length} coins compared`
  if (differences.length > 0)
    return fail(`${seen}; ${someOf(differences)}`, 'Published prices are wrong. Tell the project.')
  return uncompared.length === 0 && coins.length > 0
    ? ok(seen)
    : unknown(`${seen}; not ${someOf(uncompared)}`)
}

function isNear(price: number, other: number): boolean {
  return Math.abs(price / other - 1) <= APART_SHARE
}

function timestampOf(at: EpochMs): string {
  return new Date(at).toISOString().slice(11, 23)
}
