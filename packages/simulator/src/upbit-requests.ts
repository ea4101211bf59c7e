/** How the objects of a connection are written. */
export type UpbitFormat = 'DEFAULT' | 'SIMPLE' | 'JSON_LIST' | 'SIMPLE_LIST'

/** One type object of a subscription. */
export interface UpbitSubscription {
  readonly type: string
  readonly codes: readonly string[]
  readonly snapshot: boolean
  readonly realtime: boolean
}

/** What a client's message asks for. */
export type UpbitRequest =
  | {
      readonly kind: 'subscribe'
      readonly ticket: string
      readonly format: UpbitFormat
      readonly subscriptions: readonly UpbitSubscription[]
    }
  | { readonly kind: 'list'; readonly ticket: string; readonly format: UpbitFormat }
  | { readonly kind: 'ping' }
  | { readonly kind: 'error'; readonly name: string; readonly message: string }

type JsonObject = Readonly<Record<string, unknown>>

const FORMATS: readonly string[] = ['DEFAULT', 'SIMPLE', 'JSON_LIST', 'SIMPLE_LIST']
const TYPES = /^(ticker|trade|orderbook|candle\.(1s|1m|3m|5m|10m|15m|30m|60m|240m))$/

/** Reads one message of a client; never throws. @see exchange-protocols §1 */
export function readUpbitRequest(text: string): UpbitRequest {
  if (text === 'PING') return { kind: 'ping' }
  const parts = parseArray(text)
  if (!parts) return refused('WRONG_FORMAT', 'Format이 맞지 않습니다.')
  const ticket = parts.find(part => 'ticket' in part)?.ticket
  if (ticket === undefined || ticket === null) return refused('NO_TICKET', '티켓이 없습니다.')
  const format = parts.find(part => 'format' in part)?.format ?? 'DEFAULT'
  if (!FORMATS.includes(String(format))) return refused('WRONG_FORMAT', 'Format이 맞지 않습니다.')
  const known = { ticket: String(ticket), format: format as UpbitFormat }
  if (parts.some(part => part.method === 'LIST_SUBSCRIPTIONS')) return { kind: 'list', ...known }

  const types = parts.filter(part => 'type' in part)
  if (types.length === 0) return refused('NO_TYPE', '타입이 없습니다.')
  const unknown = types.find(part => !TYPES.test(String(part.type)))
  if (unknown) return refused('INVALID_PARAM', `지원하지 않는 타입입니다: ${String(unknown.type)}`)
  if (types.some(part => !Array.isArray(part.codes) || part.codes.length === 0)) {
    return refused('NO_CODES', '코드가 없습니다.')
  }
  return { kind: 'subscribe', ...known, subscriptions: types.map(subscriptionOf) }
}

function subscriptionOf(part: JsonObject): UpbitSubscription {
  const only = (long: string, camel: string): boolean => part[long] === true || part[camel] === true
  const codes = (part.codes as unknown[]).map(String)
  return {
    type: String(part.type),
    codes,
    snapshot: !only('is_only_realtime', 'isOnlyRealtime'),
    realtime: !only('is_only_snapshot', 'isOnlySnapshot'),
  }
}

function parseArray(text: string): JsonObject[] | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    if (!Array.isArray(parsed)) return undefined
    return parsed.every(part => typeof part === 'object' && part !== null)
      ? (parsed as JsonObject[])
      : undefined
  } catch {
    // Whatever is wrong with the text, Upbit's answer is the same error frame.
    return undefined
  }
}

function refused(name: string, message: string): UpbitRequest {
  return { kind: 'error', name, message }
}
