import { type Exchange, MAX_LAG_MS, messageOf, noNetworkIn, REFERENCE_MARKETS } from '@kimchi/core'
import type { Door } from '@kimchi/feeds'
import { AT_ONCE, type ExchangeAccess } from '../exchange-access.ts'
import { fail, ok, unknown, type Verdict, worstOf } from '../finding.ts'
import { openStream, type Streams, type WatchedStream } from '../watched-stream.ts'

/** An exchange that has not answered by then is not reached from here. */
const REACHED_WITHIN_MS = 19_000

const SMALL_REQUEST = { upbit: '/v1/candles/minutes/1?market=KRW-BTC&count=1', binance: '/api/v3/ping' }

/**
 * Whether each list of bases has one that answers this machine.
 * @throws where that cannot be known, since this machine reaches nothing
 */
export async function askBases(access: ExchangeAccess): Promise<Verdict> {
  const openLive = (exchange: Exchange) =>
    openStream(exchange, [REFERENCE_MARKETS[exchange]], `${exchange}-ws-probe`, access)
  const lists = (['upbit', 'binance'] as const).flatMap(exchange => {
    const variable = exchange.toUpperCase()
    const door = access.doors[exchange]
    const small = door.get(SMALL_REQUEST[exchange], () => {}, AT_ONCE)
    return [
      reached(`${variable}_REST_URL`, () => door.status().rest, small, access),
      reached(`${variable}_WS_URL`, () => door.status().stream, openLive(exchange), access),
    ]
  })
  const verdicts = await Promise.all(lists)
  const sentence = noNetworkIn(verdicts.map(({ seen }) => seen).join(' '))
  if (sentence && verdicts.every(({ outcome }) => outcome === 'FAIL')) throw new Error(sentence)
  return worstOf(verdicts)
}

async function reached(
  variable: string,
  status: () => ReturnType<Door['status']>['rest'],
  asked: Promise<unknown>,
  { context: { clock, signal } }: ExchangeAccess,
): Promise<Verdict> {
  const startedAt = clock.now()
  const late = clock.wait(REACHED_WITHIN_MS, signal).then(() => {
    throw new Error(`no answer within ${REACHED_WITHIN_MS / 1_000} s`)
  })
  const verdict = await Promise.race([asked, late]).then(
    () => ok(`${variable} ${status().inUse} in ${clock.now() - startedAt} ms`),
    thrown => {
      const advice = `Run the service elsewhere, or set ${variable} to a base that answers here.`
      return fail(`${variable}: ${messageOf(thrown)}`, advice)
    },
  )
  const left = status().left.map(({ base, reason }) => `${base} refused: ${reason}`)
  return { ...verdict, seen: [verdict.seen, ...left].join(', ') }
}

/**
 * Whether Upbit counts our requests as it counts those of other programs. It allows one request in ten seconds that
 * has an `Origin` header, which a proxy on the way may add.
 */
export function judgeThrottle({ lastAnswers }: ExchangeAccess): Verdict {
  const counted = lastAnswers.get('upbit-candles-minutes-1')?.headers.get('remaining-req')
  if (!counted) return unknown('no Remaining-Req from Upbit')
  const seen = `Remaining-Req: ${counted}`
  if (/\bgroup=origin\b/.test(counted))
    return fail(seen, 'Something on the way adds an Origin header: Upbit slows us down.')
  if (!/\bgroup=candles?\b/.test(counted))
    return unknown(seen, 'Upbit has renamed the group. Tell the project.')
  if (/\bsec=0\b/.test(counted)) return unknown(seen, 'Does something else on this address ask Upbit too?')
  return ok(seen)
}

/** Whether our clock agrees with both exchanges'. */
export function checkClock({ upbit, binance }: Streams): Verdict {
  return worstOf([upbit, binance].map(judgeSkew))
}

function judgeSkew(stream: WatchedStream): Verdict {
  const lags = stream.ticks.flatMap(({ origin, sentAt, receivedAt }) =>
    origin === 'stream' && sentAt !== undefined ? receivedAt - sentAt : [],
  )
  const median = lags.sort((a, b) => a - b)[lags.length >> 1]
  if (median === undefined) return unknown(`no frame of ${stream.exchange} with a time`)
  const seen = `${stream.exchange} ${median} ms in ${lags.length} frames`
  return Math.abs(median) <= MAX_LAG_MS ? ok(seen) : fail(seen, 'Let NTP set the clock of this machine.')
}
