import { createHash } from 'node:crypto'

/** A response body in the order in which it is sent. No request copies a Buffer of it. */
export type Chunks = readonly (string | Buffer)[]

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
