/** Stable codes of the errors that we throw ourselves. Callers match on these, never on messages. */
export type KimchiErrorCode =
  | 'KIMCHI_ERR_CONFIG'
  | 'KIMCHI_ERR_PRICE'
  | 'KIMCHI_ERR_FRAME'
  | 'KIMCHI_ERR_FEED_STALLED'
  | 'KIMCHI_ERR_FEED_REFUSED'
  | 'KIMCHI_ERR_REST'
  | 'KIMCHI_ERR_GEO_BLOCKED'
  | 'KIMCHI_ERR_CATALOGUE'
  | 'KIMCHI_ERR_UNKNOWN_SYMBOL'
  | 'KIMCHI_ERR_REDIS'
  | 'KIMCHI_ERR_REDIS_REFUSES'
  | 'KIMCHI_ERR_REDIS_BINARY'
  | 'KIMCHI_ERR_PRICES_KIND'
  | 'KIMCHI_ERR_LAYOUT'
  | 'KIMCHI_ERR_CODEC'
  | 'KIMCHI_ERR_NOT_READY'

/** An error with a stable `code`, and a message that names the offending field and its value. */
export class KimchiError extends Error {
  readonly code: KimchiErrorCode

  constructor(code: KimchiErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'KimchiError'
    this.code = code
  }
}

/** The text of anything thrown, for a log line or a status field. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
