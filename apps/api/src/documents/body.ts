import { createHash } from 'node:crypto'

/** A response body in the order in which it is sent. Buffers are shared between requests. */
export type Body = readonly (string | Buffer)[]

export function byteLength(body: Body): number {
  return body.reduce((sum, part) => sum + Buffer.byteLength(part), 0)
}

/** The first 132 bits of the SHA-256 of these parts, for the ETag. */
export function contentHash(...parts: Body): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('base64url').slice(0, 22)
}
