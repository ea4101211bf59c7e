import { createHash } from 'node:crypto'
import type { EpochMinute } from '@kimchi/core'
import type { CodedBodies, Coding } from './coded-bodies.ts'

/** Below this many bytes a coding saves nothing: the response fits one packet anyway. */
const WORTH_CODING = 860

/** What a {@link Document} is made of. */
export interface DocumentParts {
  /** The newest snapshot that is in it. */
  readonly minute: EpochMinute
  /** Names its content: the same on every replica, another one for other bytes. */
  readonly tag: string
  /** The JSON. */
  readonly plain: Buffer
}

/** A response body as bytes, ready to be sent many times. Nothing of it is changed afterwards. */
export class Document implements DocumentParts {
  readonly minute: EpochMinute
  readonly tag: string
  readonly plain: Buffer
  /** Whether it can be had coded; the same on every replica. */
  readonly isCodable: boolean
  readonly #name: string
  readonly #bodies: CodedBodies | undefined

  /**
   * @param name what it is a state of, such as a coin's newest 30 days
   * @param bodies where its coded forms are kept @default none: it is sent plain to everyone
   */
  constructor({ minute, tag, plain }: DocumentParts, name: string, bodies?: CodedBodies) {
    this.minute = minute
    this.tag = tag
    this.plain = plain
    this.#name = name
    this.#bodies = bodies
    this.isCodable = bodies !== undefined && plain.length >= WORTH_CODING
  }

  /** Its bytes in a coding; undefined before {@link Document.code}. */
  coded(coding: Coding): Buffer | undefined {
    return this.#bodies?.get(`${this.#name} ${coding}`, this.tag)
  }

  /** Has its bytes made in a coding; asked many times at once, that happens once. */
  async code(coding: Coding): Promise<void> {
    if (this.isCodable) await this.#bodies?.make(`${this.#name} ${coding}`, coding, this)
  }
}

/** The first 132 bits of the SHA-256 of these parts, as text for a tag. */
export function hashOf(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('base64url').slice(0, 22)
}
