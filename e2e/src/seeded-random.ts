import { createHash } from 'node:crypto'

/** What one purpose draws from a seed: no draw of another purpose changes it. */
export class Draws {
  /** The next number 0 ≤ x < 1. */
  readonly next: () => number

  constructor(seed: number, purpose: string) {
    this.next = seededRandom(createHash('sha256').update(`${seed} ${purpose}`).digest().readUInt32LE())
  }

  /** A whole number in [from, to). */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from))
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.between(0, choices.length)] as T
  }
}

/** Numbers 0 ≤ x < 1 that are the same for the same seed (mulberry32). */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
