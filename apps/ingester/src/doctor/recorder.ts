import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EpochMs } from '@kimchi/core'

/** Keeps what the exchanges said, word for word, in a folder, which it makes; without a folder it keeps nothing. */
export class Recorder {
  readonly #folder: string | undefined
  readonly #files = new Map<string, ReturnType<typeof createWriteStream>>()

  constructor(folder: string | undefined) {
    this.#folder = folder
    if (folder !== undefined) mkdirSync(folder, { recursive: true })
  }

  /** A frame, as a line `{"recv":…,"payload":"…"}` of `<name>.jsonl`; `recv` is in seconds. */
  frame(name: string, frame: Buffer | string, receivedAt: EpochMs): void {
    if (this.#folder === undefined) return
    const file = this.#files.get(name) ?? createWriteStream(join(this.#folder, `${name}.jsonl`))
    this.#files.set(name, file)
    file.write(`${JSON.stringify({ recv: receivedAt / 1_000, payload: frame.toString() })}\n`)
  }

  /** The text of a REST answer, as `<name>.json`. */
  answer(name: string, text: string): void {
    if (this.#folder !== undefined) writeFileSync(join(this.#folder, `${name}.json`), text)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#files.values()].map(file => new Promise<void>(resolve => file.end(resolve))))
  }
}
