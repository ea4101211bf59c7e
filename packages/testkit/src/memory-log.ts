import type { Log } from '@kimchi/core'

export interface LogLine {
  readonly level: keyof Log
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** An empty log that remembers its lines. */
export function createMemoryLog(): Log & { readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = []
  const at = (level: keyof Log) => (fields: object, message: string) => {
    lines.push({ level, message, fields: { ...fields } })
  }
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
