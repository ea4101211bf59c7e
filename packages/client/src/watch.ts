import type { Answer } from './ask.ts'
import { ApiError } from './errors.ts'
import { clampWait, waitAfterAnswer, waitAfterError } from './schedule.ts'
import type { ServerClock } from './server-clock.ts'
import { type Clock, utcMs } from './time.ts'
import type { LiveList } from './types.ts'

/** What is known after each request. */
export interface LiveUpdate {
  /** The last good answer, also after a failure; undefined until there was one. */
  readonly list: LiveList | undefined
  /** Why the newest request failed; undefined when it did not. */
  readonly error: ApiError | undefined
  /**
   * Milliseconds to add to this machine's clock to get the server's; 0 unless it is clearly wrong. The
   * list's age is the corrected time minus its `updated_at`.
   */
  readonly clockOffsetMs: number
  /** Milliseconds until the next request. */
  readonly nextInMs: number
}

export interface WatchOptions {
  /** Ends the watch. */
  readonly signal?: AbortSignal | undefined
  /** An older response to start from. */
  readonly last?: LiveList | undefined
}

/** What a watch needs from its client. */
export interface Watcher {
  readonly askLive: (signal: AbortSignal | undefined) => Promise<Answer<LiveList>>
  readonly clock: Clock
  readonly serverClock: ServerClock
  readonly random: () => number
}

/** Requests the list once per minute until the signal aborts, and reports each response and failure. */
export async function watch(
  { askLive, clock, serverClock, random }: Watcher,
  onUpdate: (update: LiveUpdate) => void,
  { signal, last }: WatchOptions,
): Promise<void> {
  let list = last
  let failures = 0
  let answered = false
  while (!signal?.aborted) {
    let error: ApiError | undefined
    let nextInMs: number
    try {
      const { body, headers } = await askLive(signal)
      serverClock.compare(headers)
      const isUnchanged = body.updated_at === list?.updated_at
      const now = serverClock.now()
      nextInMs = waitAfterAnswer({ updatedAt: utcMs(body.updated_at), now, isUnchanged }, random)
      list = body
      answered = true
      failures = 0
    } catch (thrown) {
      if (signal?.aborted) break
      if (!(thrown instanceof ApiError)) throw thrown
      error = thrown
      failures += 1
      nextInMs = waitAfterError(error, { failures, answered }, random)
    }
    nextInMs = clampWait(nextInMs)
    onUpdate({ list, error, clockOffsetMs: serverClock.offsetMs(), nextInMs })
    await clock.wait(nextInMs, signal)
  }
}
