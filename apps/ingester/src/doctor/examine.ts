import { setMaxListeners } from 'node:events'
import type { Context, Milliseconds } from '@kimchi/core'
import { checkBinance } from './checks/binance-stream.ts'
import { checkLists, checkPairs, fetchLists } from './checks/lists.ts'
import { askBases, checkClock, judgeThrottle } from './checks/reach.ts'
import { checkCandles, checkRows, watchRows } from './checks/rows-against-candles.ts'
import { checkCodes, checkDisorder, checkRenewal, judgeRefusal } from './checks/upbit-stream.ts'
import { createExchangeAccess, type DoctorOptions, type ExchangeAccess } from './exchange-access.ts'
import { type CheckName, EXPECTED, type Finding, unknownBecause, type Verdict, worstOf } from './finding.ts'
import { openStreams } from './watched-stream.ts'

/** All checks end within 180 s; closing the connections needs part of that. */
const DEADLINE_MS: Milliseconds = 176_000

/**
 * Checks at the exchanges what the service assumes of them. Resolves within 180 s, whatever they do, and within
 * 20 s where one of them has no base that answers.
 * @throws where this machine has no network
 * @see docs/exchanges.md#unconfirmed
 */
export async function examine(
  options: DoctorOptions,
  { clock, random, log }: Omit<Context, 'signal'>,
): Promise<readonly Finding[]> {
  const ending = new AbortController()
  // Every connection, request and wait listens to it.
  setMaxListeners(100, ending.signal)
  const context = { clock, random, log, signal: ending.signal }
  void clock.wait(DEADLINE_MS, ending.signal).then(() => ending.abort())
  try {
    const access = createExchangeAccess(options, context)
    const verdicts = startChecks(await askBases(access), access)
    const findings = (Object.keys(EXPECTED) as CheckName[]).map(async check => {
      return { check, expected: EXPECTED[check], ...(await verdicts[check].catch(unknownBecause)) }
    })
    return await Promise.all(findings)
  } finally {
    ending.abort()
  }
}

/** The verdict of each check, which begins when what it needs is there; rejects with why that cannot be known. */
function startChecks(reach: Verdict, access: ExchangeAccess): Readonly<Record<CheckName, Promise<Verdict>>> {
  const reached = reach.outcome === 'FAIL' ? Promise.reject(new Error('not asked')) : Promise.resolve()
  const fetched = reached.then(() => fetchLists(access))
  const streams = fetched.then(({ coins }) => openStreams(coins, access))
  const renewal = streams.then(streams => checkRenewal(streams, access))
  const watch = streams.then(({ coins }) => watchRows(coins, access))
  // These take time; the others judge what the streams have brought meanwhile.
  const watched = Promise.allSettled([renewal, watch]).then(() => streams)
  return {
    bases: Promise.resolve(worstOf([reach, judgeThrottle(access)])),
    clock: watched.then(checkClock),
    lists: reached.then(() => checkLists(fetched, access)),
    pairs: watched.then(streams => checkPairs(streams, access)),
    'Upbit, codes': watched.then(checkCodes, judgeRefusal),
    'Upbit, renewal': renewal,
    'Binance, streams': watched.then(async streams => checkBinance(streams, await fetched, access)),
    disorder: watched.then(checkDisorder),
    rows: watch.then(async watch => checkRows(watch, await streams)),
    candles: watch.then(checkCandles),
  }
}
