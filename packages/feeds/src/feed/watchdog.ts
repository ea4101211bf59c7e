import type { Context, Milliseconds } from '@kimchi/core'
import type { Keepalive, Protocol } from './protocol.ts'

/**
 * Checks within `maxSilenceMs`. A connection is silent when 28 in a row found no new frame, which leaves time
 * for the first retry within the limit.
 */
const CHECKS = 30
const SILENT_CHECKS = 28

/** What a connection has received so far. */
export interface Arrivals {
  dataFrames: number
  pongs: number
}

/**
 * The watchdog of an open connection. Resolves with the reason when the connection is stale although open: no
 * data, or no pong. Resolves with undefined when `signal` aborts.
 * @see docs/exchanges.md#which-price
 */
export async function untilStale(
  { exchange, maxSilenceMs, keepalive }: Protocol,
  arrivals: Readonly<Arrivals>,
  ping: () => void,
  context: Pick<Context, 'clock' | 'signal'>,
): Promise<string | undefined> {
  const silent = untilSilent(arrivals, maxSilenceMs, context).then(() => `no data for ${maxSilenceMs} ms`)
  const reasons = [silent]
  if (keepalive !== undefined) {
    const unanswered = untilUnanswered(arrivals, ping, keepalive, context)
    reasons.push(unanswered.then(() => `no pong within ${keepalive.pongWithinMs} ms`))
  }
  const reason = await Promise.race(reasons)
  return context.signal.aborted ? undefined : `${exchange} feed: ${reason}`
}

/**
 * Resolves when no data has come for nearly `maxSilenceMs` of elapsed time, or when `signal` aborts. It counts
 * checks instead of reading the wall clock, which may step; and a process that was frozen receives its frames
 * before it decides.
 */
async function untilSilent(
  arrivals: Readonly<Arrivals>,
  maxSilenceMs: Milliseconds,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): Promise<void> {
  let seen = arrivals.dataFrames
  for (let silent = 0; silent < SILENT_CHECKS && !signal.aborted; ) {
    await clock.wait(maxSilenceMs / CHECKS, signal)
    silent = arrivals.dataFrames === seen ? silent + 1 : 0
    seen = arrivals.dataFrames
  }
}

/** Pings until a ping stays unanswered or `signal` aborts. */
async function untilUnanswered(
  arrivals: Readonly<Arrivals>,
  ping: () => void,
  { pingEveryMs, pongWithinMs }: Keepalive,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): Promise<void> {
  while (!signal.aborted) {
    await clock.wait(pingEveryMs - pongWithinMs, signal)
    if (signal.aborted) return
    const before = arrivals.pongs
    ping()
    await clock.wait(pongWithinMs, signal)
    if (arrivals.pongs === before) return
  }
}
