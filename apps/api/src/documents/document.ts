import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { type BrotliOptions, brotliCompress, gzip, constants as zlib } from 'node:zlib'
import { joinBytes } from './bytes.ts'

/** How a body may be coded on the wire. */
export type Coding = 'br' | 'gzip' | 'identity'

/** A response body as bytes, ready to be sent many times. Built once; its coded forms follow when they are wanted. */
export interface Document {
  readonly identity: Buffer
  /** Hash of the identity body: the same data has the same hash on every replica. */
  readonly hash: string
  /** The coded bodies made so far. */
  readonly coded: Map<Coding, Buffer>
  /** Whether the coded bodies are made, being made, or not yet wanted. */
  compression: 'none' | 'running' | 'done'
}

/** Below this many bytes a coded body saves nothing: the response fits one packet anyway. */
const WORTH_COMPRESSING = 860

/** Compressions at a time for documents that many people may ask for; more wanted ones are simply sent plain. */
const MAX_RUNNING = 2

/** About a millisecond for a list of 200 coins, and within 3 % of the size that takes ten times as long. */
const BROTLI_QUALITY = 5

const gzipAsync = promisify(gzip)
const brotliAsync = promisify<Buffer, BrotliOptions, Buffer>(brotliCompress)

let running = 0

/** A document of these bytes, which must not be changed afterwards. */
export function createDocument(identity: Buffer): Document {
  const hash = createHash('sha256').update(identity).digest('base64url').slice(0, 22)
  const compression = identity.length < WORTH_COMPRESSING ? 'done' : 'none'
  return { identity, hash, coded: new Map(), compression }
}

/** The strong ETag of a document in a coding, with its quotes. */
export function etagOf({ hash }: Pick<Document, 'hash'>, coding: Coding): string {
  return coding === 'identity' ? `"${hash}"` : `"${hash}-${coding}"`
}

/**
 * Makes a document's coded bodies off the main thread, once. Does nothing when that has happened, is happening, or when
 * enough others are being made: the next request asks again.
 */
export async function compress(document: Document, priority = false): Promise<void> {
  if (document.compression !== 'none' || (running >= MAX_RUNNING && !priority)) return
  document.compression = 'running'
  running += 1
  const { identity, coded } = document
  try {
    // Copied, because what zlib gives is the beginning of a buffer of 16 KB that would be kept whole.
    coded.set('gzip', joinBytes([await gzipAsync(identity, { level: 6 })]))
    coded.set('br', joinBytes([await brotliAsync(identity, brotliOptions(identity.length))]))
  } finally {
    running -= 1
    document.compression = 'done'
  }
}

function brotliOptions(size: number): BrotliOptions {
  return {
    params: {
      [zlib.BROTLI_PARAM_MODE]: zlib.BROTLI_MODE_TEXT,
      [zlib.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [zlib.BROTLI_PARAM_SIZE_HINT]: size,
      // A window that just holds the body: the usual 4 MB would be allocated for each.
      [zlib.BROTLI_PARAM_LGWIN]: Math.min(22, Math.max(16, Math.ceil(Math.log2(size)) + 1)),
    },
  }
}
