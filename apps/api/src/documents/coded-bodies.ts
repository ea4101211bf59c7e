import { promisify } from 'node:util'
import { type BrotliOptions, brotliCompress, gzip, constants as zlib } from 'node:zlib'

/** A body to code, and what names its content. */
interface Body {
  readonly tag: string
  readonly plain: Buffer
}

/** How a body may be compressed. */
export type Coding = 'br' | 'gzip'

const MOST_BYTES = 64 * 2 ** 20

const brotli = promisify<Buffer, BrotliOptions, Buffer>(brotliCompress)

/** Off the main thread. Brotli 5 takes a millisecond for 200 coins; 11, its default, takes a hundred. */
const CODERS: Readonly<Record<Coding, (plain: Buffer) => Promise<Buffer>>> = {
  br: plain => brotli(plain, { params: { [zlib.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: promisify<Buffer, Buffer>(gzip),
}

/** Coded bodies: of each name the newest, each made once however many wait, all in bounded memory. */
export class CodedBodies {
  readonly #most: number
  readonly #held = new Map<string, { readonly tag: string; readonly body: Buffer }>()
  readonly #making = new Map<string, Promise<void>>()
  #bytes = 0

  /** @param mostBytes the oldest go when there are more */
  constructor(mostBytes = MOST_BYTES) {
    this.#most = mostBytes
  }

  /** The coded bytes of the content with this tag; undefined when they aren't held. */
  get(name: string, tag: string): Buffer | undefined {
    const held = this.#held.get(name)
    return held?.tag === tag ? held.body : undefined
  }

  /** Codes a body, unless that is under way. */
  make(name: string, coding: Coding, { tag, plain }: Body): Promise<void> {
    const key = `${name} ${tag}`
    const running = this.#making.get(key)
    if (running !== undefined) return running
    const work = this.#make(name, coding, tag, plain).finally(() => this.#making.delete(key))
    this.#making.set(key, work)
    return work
  }

  async #make(name: string, coding: Coding, tag: string, plain: Buffer): Promise<void> {
    // A copy, because what zlib gives is a part of 16 kB that would be kept with it.
    const body = Buffer.from(await CODERS[coding](plain))
    this.#drop(name)
    this.#held.set(name, { tag, body })
    this.#bytes += body.length
    for (const oldest of this.#held.keys()) {
      if (this.#bytes <= this.#most) break
      this.#drop(oldest)
    }
  }

  #drop(name: string): void {
    this.#bytes -= this.#held.get(name)?.body.length ?? 0
    this.#held.delete(name)
  }
}
