import { createHash } from 'node:crypto'
import type { EpochMinute, Milliseconds } from '@kimchi/core'

/** The row of M + 1 min is published 2 to 5 s after that instant, so nothing newer than M is due until M + 63 s. */
export const NEXT_AFTER_MS: Milliseconds = 63_000

/** A response body in the order in which it is sent. No request copies a Buffer of it. */
export type Chunks = readonly (string | Buffer)[]

/** How a body may be compressed. */
export type Coding = 'br' | 'gzip'

/** The coded forms of one body. */
export interface CodedForms {
  /** Its bytes in a coding; undefined while they are not in memory. */
  get(coding: Coding): Buffer | undefined
  /** Codes its bytes; calls at the same time share one run. */
  make(coding: Coding): Promise<void>
}

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

/** How many bytes these are. */
export function byteLength(chunks: Chunks): number {
  return chunks.reduce((sum, chunk) => sum + Buffer.byteLength(chunk), 0)
}

/** The first 132 bits of the SHA-256 of these parts, as text for a tag. */
export function hashOf(...parts: Chunks): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('base64url').slice(0, 22)
}
