import { promisify } from 'node:util'
import { type BrotliOptions, brotliCompress, gzip, constants as zlib } from 'node:zlib'
import { byteLength, type Chunks } from './chunks.ts'
import type { Queue } from './queue.ts'

/** How a body may be compressed. */
export type Coding = 'br' | 'gzip'

/** A response of fewer bytes fits one packet anyway. */
const LEAST_CODED_BYTES = 860

const brotli = promisify<Buffer, BrotliOptions, Buffer>(brotliCompress)

/** They run off the main thread. For 200 coins Brotli 5 needs a millisecond, its default 11 a hundred. */
const CODERS: Readonly<Record<Coding, (plain: Buffer) => Promise<Buffer>>> = {
  br: plain =>
    brotli(plain, {
      params: { [zlib.BROTLI_PARAM_QUALITY]: 5, [zlib.BROTLI_PARAM_SIZE_HINT]: plain.length },
    }),
  gzip: promisify<Buffer, Buffer>(gzip),
}

/** The coded forms of one body, each made once, when it is first needed. */
export class CodedForms {
  readonly #chunks: Chunks
  readonly #queue: Queue
  readonly #made = new Map<Coding, Buffer>()
  readonly #making = new Map<Coding, Promise<void>>()

  /** @param queue says how many bodies are coded at a time: each needs megabytes meanwhile */
  constructor(chunks: Chunks, queue: Queue) {
    this.#chunks = chunks
    this.#queue = queue
  }

  /** The body's bytes in a coding; undefined before {@link make}. */
  get(coding: Coding): Buffer | undefined {
    return this.#made.get(coding)
  }

  make(coding: Coding): Promise<void> {
    const known = this.#making.get(coding)
    if (known !== undefined) return known
    const making = this.#queue(() => this.#make(coding))
    this.#making.set(coding, making)
    making.catch(() => this.#making.delete(coding))
    return making
  }

  async #make(coding: Coding): Promise<void> {
    const coded = await CODERS[coding](Buffer.concat(this.#chunks.map(chunk => Buffer.from(chunk))))
    // zlib returns a slice of a 16 kB buffer, and Node's pool is shared: a copy keeps neither alive.
    this.#made.set(coding, Buffer.allocUnsafeSlow(coded.length).fill(coded))
  }
}

/** The coded forms of a body; undefined when they would save nothing. */
export function codedForms(chunks: Chunks, queue: Queue): CodedForms | undefined {
  return byteLength(chunks) < LEAST_CODED_BYTES ? undefined : new CodedForms(chunks, queue)
}
