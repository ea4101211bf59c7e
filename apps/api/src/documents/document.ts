import { createHash } from 'node:crypto'
import type { Transform } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type BrotliOptions, createBrotliCompress, createGzip, constants as zlib } from 'node:zlib'
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
  /** The same compressed; empty where that isn't worth it. */
  readonly coded: ReadonlyMap<Coding, Buffer>
}

/** Below this many bytes compression saves nothing: the response fits one packet anyway. */
const WORTH_COMPRESSING = 860

/**
 * Compressed bytes come in pieces of this size, which are garbage afterwards; Node's own are four times as
 * large.
 */
const CHUNK_BYTES = 4_096

/** About a millisecond for a list of 200 coins, and within 3 % of the size that takes ten times as long. */
const BROTLI_QUALITY = 5

/** The first 132 bits of the SHA-256 of these parts, as text for a tag. */
export function hashOf(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('base64url').slice(0, 22)
}

/** A document with its compressed forms, which are made off the main thread. */
export async function compressed(document: Omit<Document, 'coded'>): Promise<Document> {
  const { plain } = document
  const size = sizeOf(plain)
  if (size < WORTH_COMPRESSING) return { ...document, coded: new Map() }
  const br = await encode(createBrotliCompress(brotliOptions(size)), plain)
  const gzip = await encode(createGzip({ level: 6, chunkSize: CHUNK_BYTES }), plain)
  return {
    ...document,
    coded: new Map([
      ['br', br],
      ['gzip', gzip],
    ]),
  }
}

/** How many bytes these pieces have together. */
function sizeOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((size, piece) => size + piece.length, 0)
}

async function encode(encoder: Transform, pieces: readonly Buffer[]): Promise<Buffer> {
  for (const piece of pieces) encoder.write(piece)
  encoder.end()
  return bytesOf(await buffer(encoder))
}

/**
 * ASCII text, or bytes, in memory of its own: what Node's pool and zlib give is a part of something larger
 * that is kept.
 */
export function bytesOf(content: string | Buffer): Buffer {
  const bytes = Buffer.allocUnsafeSlow(content.length)
  if (typeof content === 'string') bytes.write(content, 'latin1')
  else content.copy(bytes)
  return bytes
}

function brotliOptions(size: number): BrotliOptions {
  return {
    chunkSize: CHUNK_BYTES,
    params: {
      [zlib.BROTLI_PARAM_MODE]: zlib.BROTLI_MODE_TEXT,
      [zlib.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [zlib.BROTLI_PARAM_SIZE_HINT]: size,
      // A window that just holds the body: the usual 4 MB would be allocated for each.
      [zlib.BROTLI_PARAM_LGWIN]: Math.min(22, Math.max(16, Math.ceil(Math.log2(size)) + 1)),
    },
  }
}
