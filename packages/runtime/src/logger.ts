import type { Log } from '@kimchi/core'
import { pino } from 'pino'

/** The values of `LOG_LEVEL`, the most talkative first. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** A JSON line logger to standard output; times are ISO 8601 UTC, levels are words. */
export function createLogger(name: string, level: (typeof LOG_LEVELS)[number]): Log {
  const options = {
    name,
    level,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    // pino's default adds the messages of an error's causes to its own, and ours names them already.
    serializers: { err: pino.stdSerializers.errWithCause },
  }
  // pino writes a fatal line at once: unless all writing is synchronous, it overtakes the lines before it.
  return pino(options, pino.destination({ sync: true }))
}
