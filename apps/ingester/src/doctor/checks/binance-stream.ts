import { type EpochMinute, type Market, messageOf, minuteOf } from '@kimchi/core'
import type { ExchangeAccess } from '../exchange-access.ts'
import { fail, ok, someOf, unknown, type Verdict, worstOf } from '../finding.ts'
import { framesOf, judgeFrames, type Streams } from '../watched-stream.ts'

const HALTED_ADVICE = 'The service treats these as halted until they trade. Tell the project.'

/** Whether Binance streams every symbol that trades, and lists it as trading. */
export async function checkBinance({ binance }: Streams, access: ExchangeAccess): Promise<Verdict> {
  const { markets } = binance
  const trading = await access.rest.fetchTradingPrices()
  const sending = new Set(binance.ticks.map(({ market }) => market))
  const silent = markets.filter(market => !sending.has(market))
  const unlisted = [...sending].filter(market => !trading.has(market))
  const acks = framesOf(binance, 'ack').length
  const errors = framesOf(binance, 'error').map(({ message }) => message)
  const answers = [`${acks} answers for ${markets.length} streams`, ...errors].join('; ')
  const listed = `${sending.size - unlisted.length} of ${sending.size} that send are listed as trading`
  const since = minuteOf(binance.connection.openedAt ?? 0)
  return worstOf([
    acks > 0 && errors.length === 0 ? ok(answers) : fail(answers),
    judgeFrames(binance),
    ok(`frames of ${markets.length - silent.length} of ${markets.length}`),
    ...(await Promise.all(silent.map(market => judgeSilent(market, since, access)))),
    unlisted.length === 0 ? ok(listed) : fail(`${listed}; without ${someOf(unlisted)}`, HALTED_ADVICE),
  ])
}

/** A symbol may be silent while its candles show no trade; without their answer nobody knows. */
async function judgeSilent(
  market: Market,
  since: EpochMinute,
  { rest, context: { clock } }: ExchangeAccess,
): Promise<Verdict> {
  const before = minuteOf(clock.now()) + 1
  const request = { exchange: 'binance', market, count: before - since - 1, before } as const
  try {
    const { candles } = await rest.fetchCandles(request)
    if (candles.some(([, , volume]) => volume > 0))
      return fail(`${market} is silent although it trades`, 'Its price stands still. Tell the project.')
    if (candles.length > 0) return ok(`${market} had no trade`)
    return unknown(`${market} is silent and has no candle`)
  } catch (thrown) {
    return unknown(`${market} is silent, its candles: ${messageOf(thrown)}`)
  }
}
