import { type Exchange, messageOf, REFERENCE_MARKETS } from '@kimchi/core'
import type { Bases } from '@kimchi/feeds'
import { fail, nameOf, ok, unknown, type Verdict, worstOf } from '../finding.ts'
import { ask, type Instruments } from '../instruments.ts'
import { type Streams, WatchedStream } from '../watched-stream.ts'

/** An exchange that has not answered by then is not reached from here. */
const REACHED_WITHIN_MS = 19_000

/** Samples stop beyond this. */
const MAX_SKEW_MS = 2_000

const SMALL_REQUEST = { upbit: '/v1/candles/minutes/1?market=KRW-BTC&count=1', binance: '/api/v3/ping' }

/** Whether the service would find a base of each list that answers from here, and which exchange has none. */
export async function checkBases(
  instruments: Instruments,
): Promise<Verdict & { readonly isReached: boolean }> {
  const { rest, streamBases } = instruments
  const of = {
    upbit: ['UPBIT_REST_URL', 'UPBIT_WS_URL'],
    binance: ['BINANCE_REST_URL', 'BINANCE_WS_URL'],
  } as const
  const lists = (['upbit', 'binance'] as const).flatMap(exchange => [
    reached(of[exchange][0], rest.bases[exchange], askSmall(instruments, exchange), instruments),
    reached(of[exchange][1], streamBases[exchange], askLive(instruments, exchange), instruments),
  ])
  const verdicts = await Promise.all(lists)
  const isReached = verdicts.every(({ outcome }) => outcome === 'ok')
  const throttle = isReached ? [await checkThrottle(instruments)] : []
  return { ...worstOf([...verdicts, ...throttle]), isReached }
}

async function askSmall(instruments: Instruments, exchange: Exchange): Promise<void> {
  await ask(instruments, exchange, SMALL_REQUEST[exchange])
}

async function askLive(instruments: Instruments, exchange: Exchange): Promise<void> {
  const { streamBases } = instruments
  const stream = await streamBases[exchange].request(base =>
    new WatchedStream(
      base,
      exchange,
      [REFERENCE_MARKETS[exchange]],
      `${exchange}-ws-probe`,
      instruments,
    ).live(),
  )
  await stream.close()
}

async function reached(
  variable: string,
  bases: Bases,
  asked: Promise<void>,
  { context: { clock, signal } }: Instruments,
): Promise<Verdict> {
  const startedAt = clock.now()
  const late = clock.wait(REACHED_WITHIN_MS, signal).then(() => {
    throw new Error(`no answer within ${REACHED_WITHIN_MS / 1_000} s`)
  })
  const verdict = await Promise.race([asked, late]).then(
    () => ok(`${variable} ${bases.status().inUse} in ${clock.now() - startedAt} ms`),
    thrown =>
      fail(
        `${variable}: ${messageOf(thrown)}`,
        `Run the service elsewhere, or set ${variable} to a base that answers here.`,
      ),
  )
  const left = bases.status().left.map(({ base, reason }) => `${base} refused: ${reason}`)
  return { ...verdict, seen: [verdict.seen, ...left].join(', ') }
}

/** A request with an `Origin` header, which a proxy may add, is counted in a group of its own: one in ten seconds. */
async function checkThrottle(instruments: Instruments): Promise<Verdict> {
  const { headers } = await ask(instruments, 'upbit', SMALL_REQUEST.upbit)
  const counted = headers.get('remaining-req')
  if (counted === null) return unknown('Upbit sends no Remaining-Req')
  const seen = `Remaining-Req: ${counted}`
  if (!/\bgroup=candle\b/.test(counted))
    return fail(seen, 'Something on the way adds an Origin header: Upbit slows us down.')
  return Number(/sec=(\d+)/.exec(counted)?.[1]) > 0
    ? ok(seen)
    : fail(seen, 'Something else on this address asks Upbit too.')
}

/** Whether our clock agrees with both exchanges'. */
export function checkClock({ upbit, binance }: Streams): Verdict {
  return worstOf([upbit, binance].map(judgeSkew))
}

function judgeSkew({ exchange, ticks }: WatchedStream): Verdict {
  const lags = ticks.flatMap(({ origin, sentAt, receivedAt }) =>
    origin === 'stream' && sentAt !== undefined ? [receivedAt - sentAt] : [],
  )
  const median = lags.sort((a, b) => a - b)[lags.length >> 1]
  if (median === undefined) return unknown(`no frame of ${nameOf(exchange)} with a time`)
  const seen = `${nameOf(exchange)} ${median} ms in ${lags.length} frames`
  return Math.abs(median) <= MAX_SKEW_MS ? ok(seen) : fail(seen, 'Let NTP set the clock of this machine.')
}
