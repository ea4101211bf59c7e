import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '@kimchi/core'

/** Keeps something that an exchange said. @param name of the connection, or of what was asked */
export type Recorder = (name: string, payload: Buffer | string) => void

/**
 * Keeps all that the exchanges say, word for word, as lines `{"recv":…,"payload":"…"}` of `<name>.jsonl` in a
 * folder, which it makes; `recv` is in seconds. A file of an earlier run is replaced.
 */
export function createRecorder(folder: string, clock: Pick<Clock, 'now'>): Recorder {
  mkdirSync(folder, { recursive: true })
  const begun = new Set<string>()
  return (name, payload) => {
    const line = JSON.stringify({ recv: clock.now() / 1_000, payload: payload.toString() })
    writeFileSync(join(folder, `${name}.jsonl`), `${line}\n`, { flag: begun.has(name) ? 'a' : 'w' })
    begun.add(name)
  }
}
