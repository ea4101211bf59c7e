/** Stable codes of the errors that we throw ourselves. Callers match on these, never on messages. */
export type KimchiErrorCode =
  | 'KIMCHI_ERR_CONFIG'
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

/** An error shows so many reasons, and counts the others. */
const MOST_REASONS = 4

/**
 * The text of anything thrown, for a log line or a status field; never empty. An error of the platform that has reasons
 * (the address that each attempt failed at) tells each once; a KimchiError's message has them already.
 * @param within the errors that name it as a cause @default none
 */
export function messageOf(thrown: unknown, within: readonly unknown[] = []): string {
  if (!(thrown instanceof Error)) return String(thrown)
  const { message, name } = thrown
  if (thrown instanceof KimchiError && message !== '') return message
  const { code, cause } = thrown as { code?: unknown; cause?: unknown }
  const causes: unknown[] = thrown instanceof AggregateError ? thrown.errors : [cause ?? []].flat()
  // A library's error may be its own cause, or its cause's.
  const chain = [...within, thrown]
  const further = causes.filter(each => !chain.includes(each))
  const reasons = [...new Set(further.map(each => messageOf(each, chain)))]
  const others = reasons.length - MOST_REASONS
  const told = reasons.slice(0, MOST_REASONS).join(', ') + (others > 0 ? ` and ${others} more` : '')
  // A failed attempt on IPv6 ends with an address of this machine's that says nothing.
  const own = message.replace(/ - Local \(.*\)$/, '')
  return [own, told].filter(text => text !== '').join(': ') || String(code ?? name)
}

/** The plain sentence for what Node says of a host on a machine without a network; undefined for any other text. */
export function noNetworkIn(text: string): string | undefined {
  if (text.includes('ENETUNREACH')) return 'This machine has no internet.'
  const [, host] = /(?:ENOTFOUND|EAI_AGAIN) ([\w.-]*\w)/.exec(text) ?? []
  return host && `This machine has no internet, or its DNS doesn't know ${host}.`
}
