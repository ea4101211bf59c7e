import { type Market, messageOf, minuteOf } from '@kimchi/core'
import { fail, ok, someOf, unknown, type Verdict, worstOf } from '../finding.ts'
import type { Instruments } from '../instruments.ts'
import type { WatchedStream } from '../watched-stream.ts'
import type { BinancePrices } from './prices.ts'
import { judgeFrames } from './upbit.ts'

/** Checking more silent symbols than this would take too long. */
const MOST_SILENT = 10

/** Whether Binance streams every symbol that trades, and lists it as trading. */
export async function checkBinance(
  stream: WatchedStream,
  prices: BinancePrices | undefined,
  instruments: Instruments,
): Promise<Verdict> {
  const { acks, errors, markets } = stream
  const seen = [`${acks} answers for ${markets.length} streams`, ...errors].join('; ')
  const subscribed = acks > 0 && errors.length === 0 ? ok(seen) : fail(seen)
  const sending = new Set(stream.ticks.map(({ market }) => market))
  return worstOf([
    subscribed,
    judgeFrames(stream),
    await judgeSilent(stream, sending, instruments),
    judgeTrading(sending, prices),
  ])
}

/** A silent symbol is well when its candles show that it has not traded; only an answer shows that. */
async function judgeSilent(
  { markets, openedAt = 0 }: WatchedStream,
  sending: ReadonlySet<Market>,
  { rest, context: { clock } }: Instruments,
): Promise<Verdict> {
  const silent = markets.filter(market => !sending.has(market))
  const seen = `frames of ${markets.length - silent.length} of ${markets.length}`
  const before = minuteOf(clock.now()) + 1
  const count = before - minuteOf(openedAt) - 1
  const outcomes = silent.slice(0, MOST_SILENT).map(market =>
    rest.fetchCandles({ exchange: 'binance', market, count, before }).then(
      ({ candles }): Verdict => {
        if (candles.some(([, , volume]) => volume > 0))
          return fail(`${market} is silent although it trades`, 'Its price stands still. Tell the project.')
        return candles.length > 0
          ? ok(`${market} had no trade`)
          : unknown(`${market} is silent and has no candle`)
      },
      thrown => unknown(`${market} is silent, its candles: ${messageOf(thrown)}`),
    ),
  )
  const others = silent.slice(MOST_SILENT)
  const unasked = others.length > 0 ? [unknown(`silent and not asked: ${someOf(others)}`)] : []
  return worstOf([ok(seen), ...(await Promise.all(outcomes)), ...unasked])
}

function judgeTrading(sending: ReadonlySet<Market>, asked: BinancePrices | undefined): Verdict {
  if (asked === undefined) return unknown('ticker/price?symbolStatus=TRADING was not answered')
  const absent = [...sending].filter(market => !asked.prices.has(market))
  const seen = `${sending.size - absent.length} of ${sending.size} that send are listed as trading`
  if (absent.length === 0) return ok(seen)
  return fail(
    `${seen}; without ${someOf(absent)}`,
    'The service treats these as halted until they trade. Tell the project.',
  )
}
