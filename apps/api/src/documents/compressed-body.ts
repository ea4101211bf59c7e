import { promisify } from 'node:util'
import { type BrotliOptions, brotliCompress, gzip, constants as zlib } from 'node:zlib'
import type { Body } from './body.ts'
import type { Queue } from './queue.ts'

export type Coding = 'br' | 'gzip'

const brotli = promisify<Buffer, BrotliOptions, Buffer>(brotliCompress)

/** They run off the main thread. For 200 coins Brotli 5 needs a millisecond, its default 11 a hundred. */
const COMPRESSORS: Readonly<Record<Coding, (plain: Buffer) => Promise<Buffer>>> = {
  br: plain =>
    brotli(plain, {
      params: { [zlib.BROTLI_PARAM_QUALITY]: 5, [zlib.BROTLI_PARAM_SIZE_HINT]: plain.length },
    }),
  gzip: promisify<Buffer, Buffer>(gzip),
}

/** One body, compressed in each coding once, when that is first needed. */
export class CompressedBody {
  readonly #body: Body
  readonly #queue: Queue
  /** The compressed bytes, or the work on them. */
  readonly #made = new Map<Coding, Buffer | Promise<Buffer>>()

  /** @param queue says how many bodies are compressed at a time: each needs megabytes meanwhile */
  constructor(body: Body, queue: Queue) {
    this.#body = body
    this.#queue = queue
  }

  /** The compressed bytes; undefined before {@link make}. */
  get(coding: Coding): Buffer | undefined {
    const made = this.#made.get(coding)
    return made instanceof Promise ? undefined : made
  }

  async make(coding: Coding): Promise<void> {
    const making = this.#made.get(coding) ?? this.#queue(() => compress(this.#body, coding))
    this.#made.set(coding, making)
    try {
      this.#made.set(coding, await making)
    } catch (thrown) {
      this.#made.delete(coding)
      throw thrown
    }
  }
}

async function compress(body: Body, coding: Coding): Promise<Buffer> {
  const compressed = await COMPRESSORS[coding](Buffer.concat(body.map(part => Buffer.from(part))))
  // zlib returns a slice of a 16 kB buffer, and Node's pool is shared: a copy keeps neither alive.
  return Buffer.allocUnsafeSlow(compressed.length).fill(compressed)
}
