/** Where log lines go: fields first, then a plain sentence. A pino logger fits as it is. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Whether to log the n-th complaint of a kind: the 1st, 10th, 100th and 1,000th, then every 10,000th. */
export function isWorthALine(count: number): boolean {
  return count % 10_000 === 0 || Number.isInteger(Math.log10(count))
}
