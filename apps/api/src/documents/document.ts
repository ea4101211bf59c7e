import { createHash } from 'node:crypto'
import type { EpochMinute } from '@kimchi/core'

/** How a body may be compressed. */
export type Coding = 'br' | 'gzip'

/** A response body as bytes, ready to be sent many times. Nothing of it is changed afterwards. */
export interface Document {
  /** The newest snapshot that is in it. */
  readonly minute: EpochMinute
  /** Names its content: the same on every replica, another one for other bytes. */
  readonly tag: string
  /** The JSON, in pieces that follow each other. */
  readonly plain: readonly Buffer[]
  /** The same compressed, in pieces too; empty where that isn't worth it. */
  readonly coded: ReadonlyMap<Coding, readonly Buffer[]>
}

/** The first 132 bits of the SHA-256 of these parts, as text for a tag. */
export function hashOf(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('base64url').slice(0, 22)
}

/**
 * Text or bytes in memory of their own: what Node's pool and zlib give is a part of something larger that
 * would be kept with it.
 */
export function bytesOf(...parts: readonly (string | Buffer)[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((size, part) => size + Buffer.byteLength(part), 0))
  let end = 0
  for (const part of parts) {
    end += typeof part === 'string' ? bytes.write(part, end) : part.copy(bytes, end)
  }
  return bytes
}
