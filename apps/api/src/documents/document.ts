import type { EpochMinute, Milliseconds } from '@kimchi/core'
import type { Chunks } from './chunks.ts'
import type { CodedForms } from './coded-forms.ts'

/** The row of M + 1 min is published 2 to 5 s after that instant, so nothing newer than M is due until M + 63 s. */
export const NEXT_AFTER_MS: Milliseconds = 63_000

/** A response body, made once and sent many times; its content never changes. */
export interface Document {
  /** The newest snapshot in it. */
  readonly minute: EpochMinute
  /** Hash of its content, the same on every replica. */
  readonly tag: string
  /** The JSON. */
  readonly chunks: Chunks
  /** Its coded forms; undefined when every replica sends it plain to everyone. */
  readonly coded?: CodedForms | undefined
  /** What its sender has prepared from it; kept here, so that no request has to look it up elsewhere. */
  prepared?: Map<string, unknown>
}
