import type { Context, Milliseconds } from '@kimchi/core'
import type { Keepalive, Protocol } from './protocol.ts'

/**
 * Looks per limit. Between 28 and 29 of them make silence, which leaves time for the first retry within the
 * limit.
 */
const LOOKS = 30
const SILENT_LOOKS = 28

/** Whether something came since the last look. Setting it costs nothing, which matters on every frame. */
export interface Mark {
  set(): void
  /** Whether it was set since the last call. */
  take(): boolean
}

/** A {@link Mark} that is not set. */
export function createMark(): Mark {
  let isSet = false
  return {
    set: () => {
      isSet = true
    },
    take: () => {
      const wasSet = isSet
      isSet = false
      return wasSet
    },
  }
}

/** What the watchdog sees of an open connection. */
export interface Watched {
  /** Set by each data frame, by nothing else. */
  readonly data: Mark
  /** Set by each pong. */
  readonly pong: Mark
  readonly ping: () => void
}

/**
 * The watchdog of an open connection. Resolves with the reason when it is stale although open: no data, or no
 * pong. Resolves with undefined when `signal` aborts.
 * @see docs/exchanges.md#which-price
 */
export async function untilStale(
  { exchange, maxSilenceMs, keepalive }: Protocol,
  { data, pong, ping }: Watched,
  context: Pick<Context, 'clock' | 'signal'>,
): Promise<string | undefined> {
  const reasons = [untilSilent(data, maxSilenceMs, context).then(() => `no data for ${maxSilenceMs} ms`)]
  if (keepalive !== undefined) {
    const missing = untilPongMissing(ping, pong, keepalive, context)
    reasons.push(missing.then(() => `no pong within ${keepalive.pongWithinMs} ms`))
  }
  const reason = await Promise.race(reasons)
  return context.signal.aborted ? undefined : `${exchange} feed: ${reason}`
}

/**
 * Resolves when there was no data for nearly `maxSilenceMs` of elapsed time, or when `signal` aborts. Counts
 * looks instead of reading the wall clock, which may step; and a process that was frozen finds its frames
 * before it decides.
 */
async function untilSilent(
  data: Mark,
  maxSilenceMs: Milliseconds,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): Promise<void> {
  for (let silent = 0; silent < SILENT_LOOKS && !signal.aborted; ) {
    await clock.wait(maxSilenceMs / LOOKS, signal)
    silent = data.take() ? 0 : silent + 1
  }
}

/** Pings until a pong is missing or `signal` aborts. */
async function untilPongMissing(
  ping: () => void,
  pong: Mark,
  { pingEveryMs, pongWithinMs }: Keepalive,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): Promise<void> {
  while (!signal.aborted) {
    await clock.wait(pingEveryMs - pongWithinMs, signal)
    if (signal.aborted) return
    pong.take()
    ping()
    await clock.wait(pongWithinMs, signal)
    if (!pong.take()) return
  }
}
