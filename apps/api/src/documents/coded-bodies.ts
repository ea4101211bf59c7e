import { promisify } from 'node:util'
import { type BrotliOptions, brotliCompress, gzip, constants as zlib } from 'node:zlib'

/** How a body may be compressed. */
export type Coding = 'br' | 'gzip'

/** A body, and the tag that names its content. */
interface Body {
  readonly tag: string
  readonly plain: Buffer
}

/** The coded forms of one body. */
export interface CodedForms {
  /** Its bytes in a coding; undefined while they are not in memory. */
  get(coding: Coding): Buffer | undefined
  /** Codes its bytes; calls at the same time share one run. */
  make(coding: Coding): Promise<void>
}

/** A response of fewer bytes fits one packet anyway. */
const WORTH_CODING = 860

const MOST_BYTES = 64 * 2 ** 20

const brotli = promisify<Buffer, BrotliOptions, Buffer>(brotliCompress)

/** They run off the main thread. For 200 coins Brotli 5 needs a millisecond, its default 11 a hundred. */
const CODERS: Readonly<Record<Coding, (plain: Buffer) => Promise<Buffer>>> = {
  br: plain => brotli(plain, { params: { [zlib.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: promisify<Buffer, Buffer>(gzip),
}

/** The newest coded bodies by name, in bounded memory; each is made once however many requests wait. */
export class CodedBodies {
  readonly #most: number
  readonly #held = new Map<string, { readonly tag: string; readonly body: Buffer }>()
  readonly #making = new Map<string, Promise<void>>()
  #bytes = 0

  /** @param mostBytes the oldest bodies are dropped above this */
  constructor(mostBytes = MOST_BYTES) {
    this.#most = mostBytes
  }

  /**
   * The coded forms of a body; undefined when they would save nothing.
   * @param name names the body across its versions, such as a coin's newest 30 days
   */
  formsOf(name: string, { tag, plain }: Body): CodedForms | undefined {
    if (plain.length < WORTH_CODING) return undefined
    return {
      get: coding => {
        const held = this.#held.get(`${name} ${coding}`)
        return held?.tag === tag ? held.body : undefined
      },
      make: coding => this.#once(`${name} ${coding}`, tag, () => CODERS[coding](plain)),
    }
  }

  #once(name: string, tag: string, code: () => Promise<Buffer>): Promise<void> {
    const key = `${name} ${tag}`
    const running = this.#making.get(key)
    if (running !== undefined) return running
    const work = this.#make(name, tag, code).finally(() => this.#making.delete(key))
    this.#making.set(key, work)
    return work
  }

  async #make(name: string, tag: string, code: () => Promise<Buffer>): Promise<void> {
    // zlib returns a slice of a 16 kB buffer, and Node's pool is shared: a copy keeps neither alive.
    const coded = await code()
    const body = Buffer.allocUnsafeSlow(coded.length).fill(coded)
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
