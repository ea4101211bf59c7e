import { createHash } from 'node:crypto'
import type { EpochMinute } from '@kimchi/core'
import type { CodedForms } from './coded-bodies.ts'

/** A response body as bytes, made once, sent many times, never changed. */
export interface Document {
  /** The newest snapshot in it. */
  readonly minute: EpochMinute
  /** Hash of its content, the same on every replica. */
  readonly tag: string
  /** The JSON. */
  readonly plain: Buffer
  /** Its coded forms; undefined when every replica sends it plain to everyone. */
  readonly coded?: CodedForms | undefined
}

/** The first 132 bits of the SHA-256 of these parts, as text for a tag. */
export function hashOf(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('base64url').slice(0, 22)
}
