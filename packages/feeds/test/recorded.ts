import { existsSync, readFileSync } from 'node:fs'

/** Recorded exchange traffic and lists, beside the repository; absent in a plain clone. */
const RECORDED = new URL('../../../../shared/recorded/', import.meta.url)

/** A reason to skip, or false when the recordings are at hand. */
export const noRecordings: string | false = existsSync(RECORDED)
  ? false
  : 'the recorded exchange data is not beside this repository'

export function recordedText(path: string): string {
  return readFileSync(new URL(path, RECORDED), 'utf8')
}

export function recordedJson(path: string): unknown {
  return JSON.parse(recordedText(path))
}

export function recordedLines(path: string): Record<string, unknown>[] {
  return recordedText(path)
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line))
}
