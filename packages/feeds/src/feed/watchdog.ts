import type { Clock, Milliseconds } from '@kimchi/core'
import type { Keepalive, Protocol } from './protocol.ts'

/** Looks per limit. Between 28 and 29 of them make silence, which leaves time for the first retry within the limit. */
const LOOKS = 30
const SILENT_LOOKS = 28

/** Whether something came since the last look. Setting it costs nothing, which matters on every frame. */
export class Mark {
  #isSet = false

  set(): void {
    this.#isSet = true
  }

  /** Whether it was set since the last call. */
  take(): boolean {
    const wasSet = this.#isSet
    this.#isSet = false
    return wasSet
  }
}

/** What an open connection shows of its life. */
export interface Pulse {
  /** Set by each data frame, by nothing else. */
  readonly heard: Mark
  /** Set by each pong. */
  readonly ponged: Mark
  readonly ping: () => void
}

/**
 * Watches an open connection. Resolves with the reason when it is dead although open: no data, or no pong.
 * Resolves with undefined when `signal` aborts. @see exchange-protocols §0
 */
export async function untilDead(
  { exchange, maxSilenceMs, keepalive }: Protocol,
  { heard, ponged, ping }: Pulse,
  clock: Clock,
  signal: AbortSignal,
): Promise<string | undefined> {
  const deaths = [
    untilSilent(heard, maxSilenceMs, clock, signal).then(() => `no data for ${maxSilenceMs} ms`),
  ]
  if (keepalive !== undefined) {
    const missing = untilPongMissing(ping, ponged, keepalive, clock, signal)
    deaths.push(missing.then(() => `no pong within ${keepalive.pongWithinMs} ms`))
  }
  const death = await Promise.race(deaths)
  return signal.aborted ? undefined : `${exchange} feed: ${death}`
}

/**
 * Resolves when nothing was heard for nearly `maxSilenceMs` of elapsed time, or when `signal` aborts (look at it). Counts looks
 * instead of reading the wall clock, which may step; and a process that was frozen finds its frames before it judges.
 */
async function untilSilent(
  heard: Mark,
  maxSilenceMs: Milliseconds,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  for (let silent = 0; silent < SILENT_LOOKS && !signal.aborted; ) {
    await clock.wait(maxSilenceMs / LOOKS, signal)
    silent = heard.take() ? 0 : silent + 1
  }
}

/** Pings for ever; resolves when a pong is missing, or when `signal` aborts (look at it). */
async function untilPongMissing(
  ping: () => void,
  ponged: Mark,
  { pingEveryMs, pongWithinMs }: Keepalive,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.wait(pingEveryMs - pongWithinMs, signal)
    if (signal.aborted) return
    ponged.take()
    ping()
    await clock.wait(pongWithinMs, signal)
    if (!ponged.take()) return
  }
}
