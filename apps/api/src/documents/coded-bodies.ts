import { promisify } from 'node:util'
import { type BrotliOptions, brotliCompress, gzip, constants as zlib } from 'node:zlib'
import { byteLength, type Chunks, type CodedForms, type Coding, type Document } from './document.ts'
import { createQueue } from './queue.ts'

/** A response of fewer bytes fits one packet anyway. */
const LEAST_CODED_BYTES = 860

const MOST_BYTES = 32 * 2 ** 20

/** How many bodies are coded at a time: each needs megabytes meanwhile, and there are few cores. */
const AT_A_TIME = 2

const brotli = promisify<Buffer, BrotliOptions, Buffer>(brotliCompress)

/** They run off the main thread. For 200 coins Brotli 5 needs a millisecond, its default 11 a hundred. */
const CODERS: Readonly<Record<Coding, (plain: Buffer) => Promise<Buffer>>> = {
  br: plain =>
    brotli(plain, {
      params: { [zlib.BROTLI_PARAM_QUALITY]: 5, [zlib.BROTLI_PARAM_SIZE_HINT]: plain.length },
    }),
  gzip: promisify<Buffer, Buffer>(gzip),
}

/** The newest coded bodies by name, in bounded memory; each is made once however many requests wait. */
export class CodedBodies {
  readonly #most: number
  readonly #held = new Map<string, { readonly tag: string; readonly body: Buffer }>()
  readonly #making = new Map<string, Promise<void>>()
  readonly #queue = createQueue(AT_A_TIME)
  #bytes = 0

  /** @param mostBytes the oldest bodies are dropped above this */
  constructor(mostBytes = MOST_BYTES) {
    this.#most = mostBytes
  }

  /**
   * The coded forms of a body; undefined when they would save nothing.
   * @param name names the body across its versions, such as a coin's newest 30 days
   */
  formsOf(name: string, { tag, chunks }: Pick<Document, 'tag' | 'chunks'>): CodedForms | undefined {
    if (byteLength(chunks) < LEAST_CODED_BYTES) return undefined
    return {
      get: coding => {
        const held = this.#held.get(`${name} ${coding}`)
        return held?.tag === tag ? held.body : undefined
      },
      make: coding => this.#once(`${name} ${coding}`, tag, () => code(coding, chunks)),
    }
  }

  #once(name: string, tag: string, work: () => Promise<Buffer>): Promise<void> {
    const key = `${name} ${tag}`
    const running = this.#making.get(key)
    if (running !== undefined) return running
    const keep = async () => this.#keep(name, tag, await work())
    const making = this.#queue(keep).finally(() => this.#making.delete(key))
    this.#making.set(key, making)
    return making
  }

  #keep(name: string, tag: string, body: Buffer): void {
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

/** These bytes in every coding, for a body that all ask for; undefined when that would save nothing. */
export async function codedForms(chunks: Chunks): Promise<CodedForms | undefined> {
  if (byteLength(chunks) < LEAST_CODED_BYTES) return undefined
  const [br, gzip] = await Promise.all([code('br', chunks), code('gzip', chunks)])
  return { get: coding => (coding === 'br' ? br : gzip), make: async () => {} }
}

async function code(coding: Coding, chunks: Chunks): Promise<Buffer> {
  const coded = await CODERS[coding](Buffer.concat(chunks.map(chunk => Buffer.from(chunk))))
  // zlib returns a slice of a 16 kB buffer, and Node's pool is shared: a copy keeps neither alive.
  return Buffer.allocUnsafeSlow(coded.length).fill(coded)
}
