import { type Check, fail, judgeLifetime, ok, onStream, someOf, unknown, type Verdict } from '../finding.ts'
import type { WatchedStream } from '../watched-stream.ts'
import type { World } from '../world.ts'

/** Binance cuts a connection that leaves a ping of its 20 s rhythm unanswered for 60 s. */
const PINGED_MS = 85_000

/** REST and stream may be a trade apart. */
const APART_SHARE = 0.005

/** Prices of the stream this near to the answer are compared with it. */
const BESIDE_MS = 3_000

/** What the service assumes of Binance's stream and of its price request. */
export const binanceChecks: readonly Check[] = [
  {
    check: 'Binance, SUBSCRIBE for all streams',
    expected: 'acknowledged',
    judge: onStream('binance', ({ acks, complaints, markets }) => {
      const seen = [`${acks} answers for ${markets.length} streams`, ...complaints].join('; ')
      return acks > 0 && complaints.length === 0 ? ok(seen) : fail(seen, 'Tell the project.')
    }),
  },
  {
    check: 'Binance, miniTicker',
    expected: 'frames of every subscribed symbol that trades',
    judge: onStream('binance', judgeTickers),
  },
  {
    check: 'Binance, pings',
    expected: 'a connection that answers them lives past 80 s',
    judge: onStream('binance', (stream, { leftAt }) => {
      return judgeLifetime(stream, leftAt, PINGED_MS, 'Tell the project.')
    }),
  },
  {
    check: 'Binance, ticker/price?symbolStatus=TRADING',
    expected: 'every symbol that sends',
    judge: onStream('binance', judgeTrading),
  },
  {
    check: 'Binance, REST price and stream price',
    expected: 'within 0.5 % at the same time',
    judge: onStream('binance', judgePrices),
  },
]

function judgeTickers({ ticks, markets }: WatchedStream, { silentTraders }: World): Verdict {
  const sending = new Set(ticks.map(({ market }) => market))
  const silent = markets.filter(market => !sending.has(market))
  const seen = `${sending.size} of ${markets.length}`
  if (sending.size === 0) return fail(seen, 'No price of Binance will come. Tell the project.')
  if (silent.length === 0) return ok(seen)
  if (silentTraders.length === 0) return ok(`${seen}; silent, and without a trade: ${someOf(silent)}`)
  return fail(
    `${seen}; silent although they traded: ${someOf(silentTraders)}`,
    'Their prices stand still. Tell the project.',
  )
}

function judgeTrading({ ticks }: WatchedStream, { trading }: World): Verdict {
  if (trading === undefined) return unknown('no answer')
  if (trading.isRefused)
    return fail('symbolStatus is refused', 'The statuses of exchangeInfo are used. Tell the project.')
  const sending = new Set(ticks.map(({ market }) => market))
  const absent = [...sending].filter(market => !trading.prices.has(market))
  if (sending.size === 0) return unknown('no frame to compare with')
  const seen = `${sending.size - absent.length} of ${sending.size} that send, of ${trading.prices.size} listed`
  if (absent.length === 0) return ok(seen)
  return fail(
    `${seen}; without ${someOf(absent)}`,
    'The service treats these as halted until they trade. Tell the project.',
  )
}

function judgePrices({ ticks }: WatchedStream, { trading }: World): Verdict {
  if (trading === undefined) return unknown('no answer')
  const { askedAt, answeredAt, prices } = trading
  const beside = ticks.filter(({ receivedAt: at }) => at > askedAt - BESIDE_MS && at < answeredAt + BESIDE_MS)
  const nearest = new Map<string, number>()
  for (const { market, price } of beside) {
    const asked = prices.get(market)
    if (asked === undefined) continue
    const apart = Math.abs(price / asked - 1)
    nearest.set(market, Math.min(apart, nearest.get(market) ?? apart))
  }
  if (nearest.size === 0) return unknown('no frame beside the answer')
  const [worst, apart] = [...nearest].reduce((a, b) => (b[1] > a[1] ? b : a))
  const seen = `${nearest.size} compared, at most ${(apart * 100).toFixed(3)} % (${worst})`
  return apart <= APART_SHARE ? ok(seen) : fail(seen, 'Seeds may be wrong. Tell the project.')
}
