import { type Context, type EpochMs, MINUTE_MS, type Milliseconds } from '@kimchi/core'
import { retryDelay } from './backoff.ts'

/**
 * When in a minute an exchange is asked which markets trade: far from the turn of the minute, and late enough
 * for the next turn to know of a halt that is a minute old. A random part keeps several ingesters apart.
 */
const EARLIEST_MS: Milliseconds = 30_000
const SPREAD_MS: Milliseconds = 10_000

/** Asks an exchange for its trading status once a minute, and at once when told to. */
export interface StatusRequests {
  /** Asks at once, or right after the request under way; a wait that the exchange asked for is kept. */
  askNow(): void
}

/**
 * Opens {@link StatusRequests} that go on until `signal` aborts. A request that rejects is made again with
 * backoff.
 */
export function openStatusRequests(
  request: (signal: AbortSignal) => Promise<void>,
  onFailure: (cause: unknown) => void,
  { clock, random, signal }: Pick<Context, 'clock' | 'random' | 'signal'>,
): StatusRequests {
  const offsetMs = EARLIEST_MS + Math.floor(SPREAD_MS * random())
  let isAsked = false
  // AbortSignal.any would leave a dependant on `signal` for each wait, docs/faults.md.
  let idle = new AbortController()
  signal.addEventListener('abort', () => idle.abort(), { once: true })
  const run = async (): Promise<void> => {
    for (let failures = 0; !signal.aborted; ) {
      idle = new AbortController()
      if (!isAsked) {
        await clock.wait(untilNext(clock.now(), offsetMs), idle.signal)
      }
      if (signal.aborted) return
      isAsked = false
      try {
        await request(signal)
        failures = 0
      } catch (cause) {
        if (signal.aborted) return
        onFailure(cause)
        isAsked = true
        await clock.wait(retryDelay(failures++, random, cause), signal)
      }
    }
  }
  void run()
  return {
    askNow: () => {
      isAsked = true
      idle.abort()
    },
  }
}

/** Milliseconds to the next instant that lies so far into its minute. */
function untilNext(now: EpochMs, offsetMs: Milliseconds): Milliseconds {
  const behind = (now - offsetMs) % MINUTE_MS
  // A timer may be a little early.
  return MINUTE_MS - behind + (behind > MINUTE_MS - 1_000 ? MINUTE_MS : 0)
}
