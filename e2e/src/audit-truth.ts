import type { Exchange, Prices } from '@kimchi/simulator'
import type { FrameRecord, SentPrice } from './frame-record.ts'
import type { StoredSample } from './stored-samples.ts'

/** What the exchanges said. */
export interface Truth {
  readonly prices: Prices
  readonly record: FrameRecord
  /** How long a frame may take from an exchange into an ingester, in milliseconds of the testbed's clock. */
  readonly transitMs: number
}

const MINUTE = 60_000
const RATE = 'KRW-USDT'
/** A snapshot is taken at M + 1 s, and never later than 5 s after that. */
const GRACE_MS = 1_000
const LATEST_MS = 6_000

/** What is wrong with a stored sample; undefined when an exchange's frames, or its candles, say the same. */
export function isRight(symbol: string, sample: StoredSample, truth: Truth): string | undefined {
  const { upbitKrw, binanceUsdt, usdtKrw, premiumE4 } = sample
  const premium = (upbitKrw / (binanceUsdt * usdtKrw) - 1) * 1_000_000
  if (!(Math.abs(premiumE4 - premium) <= 0.5 + 1e-6)) return `premium should be ${premium}`
  return sample.isCandle ? checkCandle(symbol, sample, truth.prices) : checkLive(symbol, sample, truth)
}

/**
 * Whether both exchanges were up in the minute that ends at M, and the coin's prices are known and young
 * enough.
 */
export function isExpected(symbol: string, minute: number, prices: Prices): boolean {
  const at = minute * MINUTE
  const traded = (exchange: Exchange, markets: readonly string[]) =>
    markets.some(market => prices.traded(exchange, market, at - MINUTE, at))
  const isYoung = (market: string) => (prices.lastTrade('upbit', market, at)?.at ?? 0) >= at - 60 * MINUTE
  return (
    traded('upbit', [`KRW-${symbol}`, 'KRW-BTC', RATE]) &&
    traded('binance', [`${symbol}USDT`, 'BTCUSDT']) &&
    isYoung(`KRW-${symbol}`) &&
    isYoung(RATE)
  )
}

/** The close of a candle is the last trade before its end. */
function checkCandle(symbol: string, sample: StoredSample, prices: Prices): string | undefined {
  const at = sample.minute * MINUTE
  const expected = {
    upbitKrw: prices.lastTrade('upbit', `KRW-${symbol}`, at)?.price,
    binanceUsdt: prices.lastTrade('binance', `${symbol}USDT`, at)?.price,
    usdtKrw: prices.lastTrade('upbit', RATE, at)?.price,
  }
  const isSame = Object.entries(expected).every(
    ([leg, price]) => sample[leg as keyof typeof expected] === price,
  )
  if (!isSame) return `candles say ${JSON.stringify(expected)}`
  return isExpected(symbol, sample.minute, prices) ? undefined : 'an exchange was not up'
}

/** Some connection to each exchange must have been sent these prices as its last ones before M. */
function checkLive(symbol: string, sample: StoredSample, truth: Truth): string | undefined {
  const at = sample.minute * MINUTE
  const isFromUpbit = alive('upbit', at, truth).some(markets => {
    const saidOf = (market: string) => lastPrices(markets.get(market) ?? [], at, truth.transitMs).prices
    return saidOf(`KRW-${symbol}`).has(sample.upbitKrw) && saidOf(RATE).has(sample.usdtKrw)
  })
  if (!isFromUpbit) return 'no Upbit connection was sent that'
  const market = `${symbol}USDT`
  const isFromBinance = alive('binance', at, truth).some(markets => {
    const { prices, isCertain } = lastPrices(markets.get(market) ?? [], at, truth.transitMs)
    return (
      prices.has(sample.binanceUsdt) || (!isCertain && isSeed(market, sample.binanceUsdt, markets, at, truth))
    )
  })
  if (isFromBinance || isSeedOfOutage(market, sample.binanceUsdt, at, truth)) return undefined
  return 'no Binance connection was sent that'
}

/** Connections that carried data in the minute that ends at M. */
function alive(exchange: Exchange, at: number, { record, transitMs }: Truth) {
  return record
    .connections(exchange)
    .filter(markets =>
      [...markets.values()].some(sent =>
        sent.some(({ sentAt }) => sentAt >= at - MINUTE - transitMs && sentAt <= at + LATEST_MS),
      ),
    )
}

/**
 * The last price before M; several when later ones were still on their way as the snapshot was taken, and
 * then each of them may be the last that had arrived. Not certain when nothing is sure to have arrived.
 */
function lastPrices(sent: readonly SentPrice[], at: number, transitMs: number) {
  const before = sent.filter(({ eventAt, sentAt }) => eventAt < at && sentAt <= at + LATEST_MS)
  const arrived = before.filter(({ sentAt }) => sentAt <= at + GRACE_MS - transitMs)
  const newestAt = Math.max(...arrived.map(({ eventAt }) => eventAt))
  const last = before.filter(({ eventAt }) => eventAt >= newestAt)
  return { prices: new Set(last.map(({ price }) => price)), isCertain: arrived.length > 0 }
}

/** Before its first frame a Binance market has the price of the REST call that follows each connect. */
function isSeed(
  market: string,
  price: number,
  markets: ReadonlyMap<string, readonly SentPrice[]>,
  at: number,
  truth: Truth,
) {
  const firstSentAt = Math.min(
    ...[...markets.values()].map(([first]) => first?.sentAt ?? Number.POSITIVE_INFINITY),
  )
  const connectedAt = firstSentAt - truth.transitMs - 5_000
  const before = truth.prices.lastTrade('binance', market, connectedAt)?.price
  return (
    price === before ||
    truth.prices.trades('binance', market, connectedAt, at).some(trade => trade.price === price)
  )
}

/**
 * While Binance's frames stay away, connections come and go without one, and each has only its seed, for 15 s
 * at most.
 */
function isSeedOfOutage(market: string, price: number, at: number, { prices, record, transitMs }: Truth) {
  const isOutage = !record
    .connections('binance')
    .some(markets =>
      markets.get(market)?.some(({ sentAt }) => sentAt > at - 20_000 && sentAt <= at + GRACE_MS - transitMs),
    )
  const from = at - 45_000
  return (
    isOutage &&
    [prices.lastTrade('binance', market, from), ...prices.trades('binance', market, from, at)].some(
      trade => trade?.price === price,
    )
  )
}
