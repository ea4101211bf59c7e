import { type Logger, pino } from 'pino'

export type { Logger }

/** What `LOG_LEVEL` may be, most talkative first. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** A JSON line logger to standard output; times are ISO 8601 UTC, levels are words. */
export function createLogger(name: string, level: (typeof LOG_LEVELS)[number]): Logger {
  const options = {
    name,
    level,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  // A fatal line is written at once: it overtakes lines that are on their way where writing is not
  // synchronous.
  return pino(options, pino.destination({ sync: true }))
}
