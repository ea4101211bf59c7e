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

/** The bytes of a Python bytes literal, `b'..'`, as a recorder of raw frames wrote them. */
export function pythonBytes(literal: string): Buffer {
  const body = literal.trim().slice(2, -1)
  const bytes: number[] = []
  for (let at = 0; at < body.length; at++) {
    if (body[at] !== '\\') {
      bytes.push(...Buffer.from(body[at] ?? ''))
      continue
    }
    at += 1
    const escaped = body[at] ?? ''
    if (escaped === 'x') {
      bytes.push(Number.parseInt(body.slice(at + 1, at + 3), 16))
      at += 2
    } else {
      bytes.push(SIMPLE_ESCAPES.get(escaped) ?? escaped.charCodeAt(0))
    }
  }
  return Buffer.from(bytes)
}

const SIMPLE_ESCAPES: ReadonlyMap<string, number> = new Map([
  ['n', 10],
  ['r', 13],
  ['t', 9],
])
