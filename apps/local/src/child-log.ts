import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { createStream } from 'rotating-file-stream'

/** At most this much of one app's log is kept, in files of a quarter of it. */
const LOG_FILES = 4
const LOG_FILE_SIZE = '5M'

/** A line of JSON as the apps log it. */
export type LogRecord = Readonly<Record<string, unknown>>

/** Where a child's output goes beside its file. */
export interface ChildLogOptions {
  readonly name: string
  readonly dir: string
  /** Takes each JSON line. */
  readonly onRecord: (record: LogRecord) => void
  /**
   * Takes what a person should see: warnings, and plain text on standard error; the same line only once in a
   * row.
   */
  readonly onComplaint: (text: string, isWarning: boolean) => void
}

/** Writes everything a child prints to `dir/name.log`, bounded. */
export function logChild(child: ChildProcess, { name, dir, onRecord, onComplaint }: ChildLogOptions): void {
  const file = createStream(`${name}.log`, { path: dir, size: LOG_FILE_SIZE, maxFiles: LOG_FILES - 1 })
  // A full disk must not end what is being logged.
  file.on('error', error => onComplaint(`log not written: ${error.message}`, false))
  let last = ''
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue
    createInterface({ input: stream }).on('line', line => {
      file.write(`${line}\n`)
      const record = parse(line)
      if (record) onRecord(record)
      const text = record ? complaintOf(record) : stream === child.stderr ? line : undefined
      if (!text || text === last) return
      last = text
      onComplaint(text, record?.level === 'warn')
    })
  }
  child.once('close', () => file.end())
}

function parse(line: string): LogRecord | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

function complaintOf({ level, msg, err }: LogRecord): string | undefined {
  if (!['warn', 'error', 'fatal'].includes(String(level))) return undefined
  const { message } = (err ?? {}) as { message?: unknown }
  return [msg, message].filter(Boolean).join(': ')
}
