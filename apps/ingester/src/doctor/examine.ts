import { setMaxListeners } from 'node:events'
import { type Context, type EpochMs, type Milliseconds, messageOf } from '@kimchi/core'
import { Bases } from '@kimchi/feeds'
import { checkBinance } from './checks/binance.ts'
import { checkCandleSamples, checkCandleTimes, watchMinute } from './checks/candles.ts'
import { checkLists, checkPairs, type Lists, loadLists, marketsOf } from './checks/lists.ts'
import { askBinancePrices, checkPrices } from './checks/prices.ts'
import { checkBases, checkClock } from './checks/reach.ts'
import { checkCodes, checkRenewal, checkStates, checkTrades } from './checks/upbit.ts'
import { type CheckName, EXPECTED, type Finding, unknown, type Verdict } from './finding.ts'
import type { DoctorOptions, Instruments } from './instruments.ts'
import { openStreams, type Streams } from './watched-stream.ts'

/** All checks end within 180 s; closing the connections needs part of that. */
const DEADLINE_MS: Milliseconds = 176_000

type Verdicts = Partial<Record<CheckName, Verdict>>

/**
 * Asks the exchanges whether what the service assumes of them is so. Resolves within 180 s, whatever they do,
 * and within 20 s where one of them has no base that answers.
 * @see docs/exchanges.md#unconfirmed
 */
export async function examine(
  options: DoctorOptions,
  { clock, random, log }: Omit<Context, 'signal'>,
): Promise<readonly Finding[]> {
  const ending = new AbortController()
  // Every request and every wait listens.
  setMaxListeners(100, ending.signal)
  const context = { clock, random, log, signal: ending.signal }
  void clock.wait(DEADLINE_MS, ending.signal).then(() => ending.abort())
  const { UPBIT_WS_URL, BINANCE_WS_URL } = options.config
  const streamBases = {
    upbit: new Bases('upbit', 'stream', UPBIT_WS_URL, context),
    binance: new Bases('binance', 'stream', BINANCE_WS_URL, context),
  }
  const rest = options.createRest(context)
  try {
    const verdicts = await examineFrom({ ...options, streamBases, rest, context })
    return Object.entries(EXPECTED).map(([check, expected]) => {
      return {
        check: check as CheckName,
        expected,
        ...(verdicts[check as CheckName] ?? unknown('not asked')),
      }
    })
  } finally {
    ending.abort()
  }
}

/** What cannot be asked is left out. */
async function examineFrom(instruments: Instruments): Promise<Verdicts> {
  instruments.onProgress('asking the bases')
  const { isReached, ...bases } = await checkBases(instruments)
  if (!isReached) return { bases }
  instruments.onProgress('loading the lists')
  const lists = await loadLists(instruments).catch((thrown: unknown) => new Error(messageOf(thrown)))
  const known = { bases, lists: checkLists(lists, instruments) }
  if (lists instanceof Error || lists.coins.length === 0) return known
  instruments.onProgress('opening the streams')
  const streams = await openStreams(instruments, marketsOf(lists.coins)).catch((thrown: unknown) =>
    messageOf(thrown),
  )
  if (typeof streams === 'string')
    return { ...known, 'Upbit, codes': unknown(streams), 'Binance, streams': unknown(streams) }
  try {
    return { ...known, ...(await examineStreams(lists, streams, instruments)) }
  } finally {
    await Promise.all([streams.upbit, streams.binance, ...streams.groups].map(stream => stream.close()))
  }
}

/** What only time shows: frames, renewals, a minute's end. */
async function examineStreams(lists: Lists, streams: Streams, instruments: Instruments): Promise<Verdicts> {
  const { context } = instruments
  const { coins } = lists
  const renewals: EpochMs[] = []
  const binancePrices = askBinancePrices(instruments)
  const [renewal, prices, minute] = await Promise.all([
    checkRenewal(streams.upbit, renewals, context),
    checkPrices(coins, streams, binancePrices, instruments),
    watchMinute(coins, streams, instruments),
  ])
  return {
    clock: checkClock(streams),
    pairs: checkPairs(lists, streams, instruments),
    'Upbit, codes': checkCodes(streams),
    'Upbit, renewal': renewal,
    'Upbit, trades': checkTrades(streams, renewals, context.clock.now()),
    'Upbit, states': checkStates(streams),
    'Binance, streams': await checkBinance(streams.binance, await binancePrices, instruments),
    prices,
    'candles, when': checkCandleTimes(minute),
    'candles, what': checkCandleSamples(minute),
  }
}
