import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import { createStream } from 'rotating-file-stream'

/** One app's log is kept in this many files of this size. */
const LOG_FILES = 4
const LOG_FILE_SIZE = '5M'

/**
 * Writes everything that a child prints to its log, rotated. Resolves when all of it is written, or can't be.
 * @param file name of the log in its folder
 * @param onComplaint gets what a person should see: warnings, errors and plain text on standard error, repeats left
 *   out
 */
export function logChild(
  child: ChildProcess,
  { file, folder }: { readonly file: string; readonly folder: string },
  onComplaint: (text: string) => void,
): Promise<void> {
  const log = createStream(file, { path: folder, size: LOG_FILE_SIZE, maxFiles: LOG_FILES - 1 })
  // A full disk must not end the child.
  log.on('error', error => onComplaint(`log not written: ${error.message}`))
  let last = ''
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue
    createInterface({ input: stream }).on('line', line => {
      log.write(`${line}\n`)
      const record = parse(line)
      const text = record ? complaintOf(record) : stream === child.stderr ? line : undefined
      if (!text || text === last) return
      last = text
      onComplaint(text)
    })
  }
  child.once('close', () => log.end())
  return finished(log).catch(() => {})
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
