import type { Context, Milliseconds } from '@kimchi/core'
import type { Keepalive, Protocol } from './protocol.ts'

/**
 * Checks within `maxSilenceMs`. A connection is silent when 28 in a row found no new frame, which leaves time
 * for the first retry within the limit.
 */
const CHECKS = 30
const SILENT_CHECKS = 28

/** What the watchdog watches an open connection by. */
export interface Watched {
  /** How many data frames have come. */
  readonly dataCount: () => number
  /** How many pongs have come. */
  readonly pongCount: () => number
  readonly ping: () => void
}

/**
 * The watchdog of an open connection. Resolves with the reason when the connection is stale although open: no
 * data, or no pong. Resolves with undefined when `signal` aborts.
 * @see docs/exchanges.md#which-price
 */
export async function untilStale(
  { exchange, maxSilenceMs, keepalive }: Protocol,
  watched: Watched,
  context: Pick<Context, 'clock' | 'signal'>,
): Promise<string | undefined> {
  const silent = untilSilent(watched, maxSilenceMs, context).then(() => `no data for ${maxSilenceMs} ms`)
  const reasons = [silent]
  if (keepalive !== undefined) {
    const unanswered = untilUnanswered(watched, keepalive, context)
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
  { dataCount }: Watched,
  maxSilenceMs: Milliseconds,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): Promise<void> {
  let seen = dataCount()
  for (let silent = 0; silent < SILENT_CHECKS && !signal.aborted; ) {
    await clock.wait(maxSilenceMs / CHECKS, signal)
    silent = dataCount() === seen ? silent + 1 : 0
    seen = dataCount()
  }
}

/** Pings until a ping stays unanswered or `signal` aborts. */
async function untilUnanswered(
  { pongCount, ping }: Watched,
  { pingEveryMs, pongWithinMs }: Keepalive,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): Promise<void> {
  while (!signal.aborted) {
    await clock.wait(pingEveryMs - pongWithinMs, signal)
    if (signal.aborted) return
    const before = pongCount()
    ping()
    await clock.wait(pongWithinMs, signal)
    if (pongCount() === before) return
  }
}
