import type { ExchangeAccess } from '../exchange-access.ts'
import { fail, ok, someOf, unknown, type Verdict, worstOf } from '../finding.ts'
import { framesOf, judgeFrames, type Streams } from '../watched-stream.ts'
import type { Lists } from './lists.ts'

const HALTED_ADVICE = 'The service treats these as halted until they trade. Tell the project.'
const LISTED_ADVICE = 'The service would publish these while they are halted. Tell the project.'

/** Whether Binance streams what was subscribed, and its list of trading markets has those that trade and no other. */
export async function checkBinance(
  { binance }: Streams,
  lists: Lists,
  access: ExchangeAccess,
): Promise<Verdict> {
  const { trading } = await access.rest.fetchTradingPrices()
  const sending = [...new Set(binance.ticks.map(({ market }) => market))]
  const unlisted = sending.filter(market => !trading.has(market))
  const others = lists.binance.filter(listing => !listing.trading)
  const wrong = others.map(({ market }) => market).filter(market => trading.has(market))
  const acks = framesOf(binance, 'ack').length
  const errors = framesOf(binance, 'error').map(({ message }) => message)
  const answers = [`${acks} answers for ${binance.markets.length} streams`, ...errors].join('; ')
  const listed = `${sending.length - unlisted.length} of ${sending.length} that send are listed as trading`
  const halted = `${wrong.length} of ${others.length} that do not trade are`
  return worstOf([
    errors.length > 0 ? fail(answers) : acks > 0 ? ok(answers) : unknown(answers),
    judgeFrames(binance),
    unlisted.length === 0 ? ok(listed) : fail(`${listed}; without ${someOf(unlisted)}`, HALTED_ADVICE),
    wrong.length === 0 ? ok(halted) : fail(`${halted}: ${someOf(wrong)}`, LISTED_ADVICE),
  ])
}
