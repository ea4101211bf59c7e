import { setMaxListeners } from 'node:events'
import { type Context, type Milliseconds, messageOf } from '@kimchi/core'
import { checkBinance } from './checks/binance-stream.ts'
import { checkCandles } from './checks/candles.ts'
import { checkLists, checkPairs, fetchLists } from './checks/lists.ts'
import { checkPrices } from './checks/prices.ts'
import { checkClock, checkReach, checkThrottle } from './checks/reach.ts'
import { checkCodes, checkRenewal, checkStates } from './checks/upbit-stream.ts'
import { createExchangeAccess, type DoctorOptions, type ExchangeAccess } from './exchange-access.ts'
import { type CheckName, EXPECTED, type Finding, fail, unknown, type Verdict, worstOf } from './finding.ts'
import { openStreams } from './watched-stream.ts'

/** All checks end within 180 s; closing the connections needs part of that. */
const DEADLINE_MS: Milliseconds = 176_000

type Verdicts = Partial<Record<CheckName, Verdict>>

/**
 * Checks at the exchanges what the service assumes of them. Resolves within 180 s, whatever they do, and within
 * 20 s where one of them has no base that answers.
 * @see docs/exchanges.md#unconfirmed
 */
export async function examine(
  options: DoctorOptions,
  { clock, random, log }: Omit<Context, 'signal'>,
): Promise<readonly Finding[]> {
  const ending = new AbortController()
  // Every connection, every request and every wait listens.
  setMaxListeners(100, ending.signal)
  const context = { clock, random, log, signal: ending.signal }
  void clock.wait(DEADLINE_MS, ending.signal).then(() => ending.abort())
  const verdicts: Verdicts = {}
  const examined = examineInto(verdicts, createExchangeAccess(options, context))
  const unasked = await examined.then(
    () => unknown('not asked'),
    thrown => unknown(messageOf(thrown)),
  )
  ending.abort()
  const checks = Object.keys(EXPECTED) as CheckName[]
  return checks.map(check => ({ check, expected: EXPECTED[check], ...(verdicts[check] ?? unasked) }))
}

/** Fills in each verdict as it is reached; what cannot be asked stays without one. @throws why no stream opens */
async function examineInto(verdicts: Verdicts, access: ExchangeAccess): Promise<void> {
  const { onProgress } = access
  onProgress('asking the bases')
  verdicts.bases = await checkReach(access)
  if (verdicts.bases.outcome === 'FAIL') return
  verdicts.bases = worstOf([verdicts.bases, await answered(checkThrottle(access))])
  onProgress('fetching the lists')
  const lists = await fetchLists(access).catch(messageOf)
  if (typeof lists === 'string') {
    verdicts.lists = fail(lists, 'No coin can be tracked. Tell the project.')
    return
  }
  verdicts.lists = checkLists(lists, access)
  const { coins } = lists
  if (coins.length === 0) return
  onProgress('opening the streams')
  const streams = await openStreams(coins, access)
  const judge = async (checks: Partial<Record<CheckName, Verdict | Promise<Verdict>>>) => {
    const judged = Object.entries(checks).map(async ([check, verdict]) => [check, await answered(verdict)])
    Object.assign(verdicts, Object.fromEntries(await Promise.all(judged)))
  }
  // These take time; the others judge what the streams have brought meanwhile.
  await judge({
    'Upbit, renewal': checkRenewal(streams, access),
    prices: checkPrices(streams, access),
    candles: checkCandles(coins, streams, access),
  })
  await judge({
    clock: checkClock(streams),
    pairs: checkPairs(lists, streams),
    'Upbit, codes': checkCodes(streams),
    'Upbit, states': checkStates(streams),
    'Binance, streams': checkBinance(streams, access),
  })
}

/** The verdict on a check that throws is `unknown`, with the error as what was seen. */
async function answered(check: Verdict | Promise<Verdict>): Promise<Verdict> {
  try {
    return await check
  } catch (thrown) {
    return unknown(messageOf(thrown))
  }
}
