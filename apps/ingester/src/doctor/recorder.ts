import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EpochMs } from '@kimchi/core'

/** Keeps what the exchanges said, word for word. */
export interface Recorder {
  /** A frame, as a line `{"recv":…,"payload":"…"}` of `<name>.jsonl`; `recv` is in seconds. */
  frame(name: string, frame: Buffer | string, receivedAt: EpochMs): void
  /** The text of a REST answer, as `<name>.json`. */
  answer(name: string, text: string): void
  close(): Promise<void>
}

/** A recorder into a folder, which is made; without a folder nothing is kept. */
export function openRecorder(folder: string | undefined): Recorder {
  if (folder === undefined) return { frame: () => {}, answer: () => {}, close: async () => {} }
  mkdirSync(folder, { recursive: true })
  const files = new Map<string, ReturnType<typeof createWriteStream>>()
  const fileOf = (name: string) => {
    const file = files.get(name) ?? createWriteStream(join(folder, `${name}.jsonl`))
    files.set(name, file)
    return file
  }
  return {
    frame: (name, frame, receivedAt) => {
      fileOf(name).write(`${JSON.stringify({ recv: receivedAt / 1_000, payload: frame.toString() })}\n`)
    },
    answer: (name, text) => writeFileSync(join(folder, `${name}.json`), text),
    close: async () => {
      await Promise.all([...files.values()].map(file => new Promise<void>(resolve => file.end(resolve))))
    },
  }
}
