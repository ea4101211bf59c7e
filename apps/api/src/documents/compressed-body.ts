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
export class CompressedBody {
  readonly #body: Body
  readonly #queue: Queue
  /** The compressed bytes, or the work on them. */
  readonly #made = new Map<Coding, Buffer | Promise<Buffer>>()
  readonly #quality: number
  /** Codings that somebody has asked for. */
  readonly asked = new Set<Coding>()

  /**
   * @param queue says how many bodies are compressed at a time: each needs megabytes meanwhile
   * @param quality Brotli's, from 0 to 11
   */
  constructor(body: Body, queue: Queue, quality: number) {
    this.#body = body
    this.#queue = queue
    this.#quality = quality
  }

  /** The compressed bytes; undefined before {@link make}. */
  get(coding: Coding): Buffer | undefined {
    this.asked.add(coding)
    const made = this.#made.get(coding)
    return made instanceof Promise ? undefined : made
  }

  async make(coding: Coding): Promise<void> {
    const making = this.#made.get(coding) ?? this.#queue(() => compress(this.#body, coding, this.#quality))
    this.#made.set(coding, making)
    try {
      this.#made.set(coding, await making)
    } catch (thrown) {
      this.#made.delete(coding)
      throw thrown
    }
  }
}

async function compress(body: Body, coding: Coding, quality: number): Promise<Buffer> {
  const compressed = await COMPRESSORS[coding](Buffer.concat(body.map(part => Buffer.from(part))), quality)
  // zlib returns a slice of a 16 kB buffer, and Node's pool is shared: a copy keeps neither alive.
  return Buffer.allocUnsafeSlow(compressed.length).fill(compressed)
}
