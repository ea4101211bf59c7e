import { promisify } from 'node:util'
import { type BrotliOptions, brotliCompress, gzip, constants as zlib } from 'node:zlib'
import type { Body } from './body.ts'
import type { Queue } from './queue.ts'

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
 * @param queue says how many bodies are compressed at a time: each needs megabytes meanwhile
 * @param quality Brotli's, from 0 to 11
 */
export function compressedBody(body: Body, queue: Queue, quality: number) {
  /** The compressed bytes, or the work on them. */
  const made = new Map<Coding, Buffer | Promise<Buffer>>()
  const asked = new Set<Coding>()
  return {
    /** Codings that somebody has asked for. */
    asked,
    /** The compressed bytes; undefined before they are made. */
    get: (coding: Coding) => {
      asked.add(coding)
      const bytes = made.get(coding)
      return bytes instanceof Promise ? undefined : bytes
    },
    make: async (coding: Coding) => {
      const making = made.get(coding) ?? queue(() => compress(body, coding, quality))
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
