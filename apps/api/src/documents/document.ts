import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { type BrotliOptions, brotliCompress, gzip, constants as zlib } from 'node:zlib'
import type { EpochMinute, Milliseconds } from '@kimchi/core'

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

/** A response body in the order in which it is sent. Buffers are shared between requests. */
export type Body = readonly (string | Buffer)[]

/** The first 132 bits of the SHA-256 of these parts, for the ETag. */
export function contentHash(...parts: Body): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('base64url').slice(0, 22)
}

/** Runs a piece of work in its turn. */
export type Limit = <T>(work: () => Promise<T>) => Promise<T>

export type Coding = 'br' | 'gzip'

const brotli = promisify<Buffer, BrotliOptions, Buffer>(brotliCompress)

/**
 * Brotli's quality. What is coded once a minute is sent for that long, so that bytes count more than the milliseconds
 * of a thread (docs/benchmarks.md).
 */
export const QUALITY = { list: 11, history: 10 } as const

/** They run off the main thread. */
const COMPRESSORS: Readonly<Record<Coding, (plain: Buffer, quality: number) => Promise<Buffer>>> = {
  br: (plain, quality) =>
    brotli(plain, {
      params: { [zlib.BROTLI_PARAM_QUALITY]: quality, [zlib.BROTLI_PARAM_SIZE_HINT]: plain.length },
    }),
  gzip: promisify<Buffer, Buffer>(gzip),
}

/** One body, compressed in each coding once, when that is first needed. */
export type CompressedBody = ReturnType<typeof compressedBody>

/**
 * @param limit says how many bodies are compressed at a time: each needs megabytes meanwhile
 * @param quality Brotli's, from 0 to 11
 */
export function compressedBody(body: Body, limit: Limit, quality: number) {
  /** The compressed bytes, or the work on them. */
  const made = new Map<Coding, Buffer | Promise<Buffer>>()
  return {
    /** Those in which it is, or will be, compressed. */
    codings: () => [...made.keys()],
    /** The compressed bytes; undefined before they are made. */
    get: (coding: Coding) => {
      const bytes = made.get(coding)
      return bytes instanceof Promise ? undefined : bytes
    },
    make: async (coding: Coding) => {
      const making = made.get(coding) ?? limit(() => compress(body, coding, quality))
      made.set(coding, making)
      try {
        made.set(coding, await making)
      } catch (thrown) {
        made.delete(coding)
        throw thrown
      }
    },
  }
}

async function compress(body: Body, coding: Coding, quality: number): Promise<Buffer> {
  const compressed = await COMPRESSORS[coding](Buffer.concat(body.map(part => Buffer.from(part))), quality)
  // zlib returns a slice of a 16 kB buffer, and Node's pool is shared: a copy keeps neither alive.
  return Buffer.allocUnsafeSlow(compressed.length).fill(compressed)
}
