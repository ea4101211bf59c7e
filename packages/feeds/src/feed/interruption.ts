import type { EpochMs, Interruption, Milliseconds } from '@kimchi/core'

/** A longer silence may have swallowed frames. */
const MAX_SILENCE_MS: Milliseconds = 3_000

/** The last frame of data before this one, on whichever connection. */
export interface DataBefore {
  readonly receivedAt: EpochMs
  readonly isLate: boolean
}

/** A frame of data: its connection, if it is the first one read from it, and whether it was long on its way. */
export interface DataFrame extends DataBefore {
  /** When the connection was opened, in the first frame that is read from it; undefined in all others. */
  readonly openedAt: EpochMs | undefined
}

/** What a frame of data shows. */
export interface Shown extends Omit<Interruption, 'exchange'> {
  readonly isSilence: boolean
  /** Whether current prices are to be asked for: what the exchange sent meanwhile may be lost. */
  readonly isSeedWanted: boolean
}

/**
 * The one rule for what may have been lost before a frame of data; undefined where nothing was. Frames may be lost
 * between two connections, in a silence of more than 3 s, where our clock steps, and as long as frames come late: what
 * lies in a buffer is old, and what did not fit into it is gone. A late frame belongs to the interruption, which ends
 * with the next fresh one.
 */
export function interruptionAt(
  { receivedAt, isLate, openedAt }: DataFrame,
  before: DataBefore | undefined,
): Shown | undefined {
  const lastAt = before?.receivedAt ?? receivedAt
  const quietFrom = openedAt ?? lastAt
  const isClockBack = receivedAt < Math.max(quietFrom, lastAt)
  const isSilence = isClockBack || receivedAt - quietFrom > MAX_SILENCE_MS
  const wasLate = openedAt === undefined && before?.isLate === true
  const isBroken = isSilence || isLate || wasLate
  if (!isBroken && openedAt === undefined) return undefined
  // What a new connection has brought counts from its opening: Upbit's begins with snapshots.
  const pricesFrom = isBroken ? receivedAt : (openedAt ?? receivedAt)
  return { pricesFrom, isClockBack, isSilence, isSeedWanted: isBroken && !isLate }
}
