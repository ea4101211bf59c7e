import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import { createStream } from 'rotating-file-stream'

/** One app's log is kept in this many files of this size. */
const LOG_FILES = 4
const LOG_FILE_SIZE = '5M'

/** Whose log it is. */
export interface Logged {
  readonly name: string
  /** Holds its log, `<name>.log`. */
  readonly logDir: string
}

/**
 * Writes everything that a child prints to its log, rotated. Resolves when all of it is written, or can't be.
 * @param onComplaint gets what a person should see: warnings, errors and plain text on standard error, repeats left
 *   out
 */
export function logChild(
  child: ChildProcess,
  { name, logDir }: Logged,
  onComplaint: (text: string) => void,
): Promise<void> {
  const file = createStream(`${name}.log`, { path: logDir, size: LOG_FILE_SIZE, maxFiles: LOG_FILES - 1 })
  // A full disk must not end the child.
  file.on('error', error => onComplaint(`log not written: ${error.message}`))
  let last = ''
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue
    createInterface({ input: stream }).on('line', line => {
      file.write(`${line}\n`)
      const record = parse(line)
      const text = record ? complaintOf(record) : stream === child.stderr ? line : undefined
      if (!text || text === last) return
      last = text
      onComplaint(text)
    })
  }
  child.once('close', () => file.end())
  return finished(file).catch(() => {})
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

function complaintOf({ level, msg, err }: Readonly<Record<string, unknown>>): string | undefined {
  if (!['warn', 'error', 'fatal'].includes(String(level))) return undefined
  const { message } = (err ?? {}) as { message?: unknown }
  return [msg, message].filter(Boolean).join(': ')
}
