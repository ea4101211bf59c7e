import type { EpochMinute, Milliseconds } from '@kimchi/core'
import type { Body } from './body.ts'
import type { CompressedBody } from './compressed-body.ts'

/**
 * The next minute is published between M + 62 s and M + 65 s; callers and replicas look again at M + 63 s.
 */
export const NEXT_AFTER_MS: Milliseconds = 63_000

/** A response body, made once and sent many times; its content never changes. */
export interface Document {
  /** The newest snapshot in it. */
  readonly minute: EpochMinute
  /** Hash of its content for the ETag, the same on every replica. */
  readonly tag: string
  readonly body: Body
  /** Undefined for a history of a number of days that few ask for, which is never compressed. */
  readonly compressed?: CompressedBody
}
