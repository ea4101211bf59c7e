import { createHash } from 'node:crypto'
import type { EpochMinute } from '@kimchi/core'
import type { CodedForms } from './coded-bodies.ts'

/** A response body as bytes, ready to be sent many times. Nothing of it is changed afterwards. */
export interface Document {
  /** The newest snapshot that is in it. */
  readonly minute: EpochMinute
  /** Names its content: the same on every replica, another one for other bytes. */
  readonly tag: string
  /** The JSON. */
  readonly plain: Buffer
  /** Its coded forms; undefined where it is sent plain to everyone, on every replica. */
  readonly coded?: CodedForms | undefined
}

/** The first 132 bits of the SHA-256 of these parts, as text for a tag. */
export function hashOf(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('base64url').slice(0, 22)
}
