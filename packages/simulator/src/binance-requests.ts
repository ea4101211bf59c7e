/** What a client's message asks for; `id` is given back as it came. */
export type BinanceRequest =
  | { readonly kind: 'subscribe' | 'unsubscribe'; readonly streams: readonly string[]; readonly id: unknown }
  | { readonly kind: 'list'; readonly id: unknown }
  | { readonly kind: 'get-combined'; readonly id: unknown }
  | { readonly kind: 'set-combined'; readonly combined: boolean; readonly id: unknown }
  | { readonly kind: 'error'; readonly answer: object }

/** Reads one message of a client; never throws. @see exchange-protocols §3 */
export function readBinanceRequest(text: string): BinanceRequest {
  const message = parseObject(text)
  if (message instanceof SyntaxError) {
    return { kind: 'error', answer: { code: 3, msg: `Invalid JSON: ${message.message}` } }
  }
  const { method, params, id = null } = message
  if (!isId(id)) return refused(2, 'Invalid request: request ID must be an integer, a string or null', null)
  switch (method) {
    case 'LIST_SUBSCRIPTIONS':
      return { kind: 'list', id }
    case 'SUBSCRIBE':
    case 'UNSUBSCRIBE': {
      if (!isTexts(params)) return refused(2, 'Invalid request: params must be an array of strings', id)
      return { kind: method === 'SUBSCRIBE' ? 'subscribe' : 'unsubscribe', streams: params, id }
    }
    case 'SET_PROPERTY':
    case 'GET_PROPERTY':
      return readProperty(method, params, id)
    default:
      return refused(2, `Invalid request: unknown variant \`${String(method)}\``, id)
  }
}

function readProperty(method: string, params: unknown, id: unknown): BinanceRequest {
  const [name, value] = Array.isArray(params) ? params : []
  if (name !== 'combined') return refused(0, `Unknown property: ${String(name)}`, id)
  if (method === 'GET_PROPERTY') return { kind: 'get-combined', id }
  if (typeof value !== 'boolean') return refused(1, 'Invalid value type: expected Boolean', id)
  return { kind: 'set-combined', combined: value, id }
}

function parseObject(text: string): Readonly<Record<string, unknown>> | SyntaxError {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {}
  } catch (cause) {
    return cause as SyntaxError
  }
}

function isId(id: unknown): boolean {
  return id === null || Number.isInteger(id) || (typeof id === 'string' && /^[0-9A-Za-z_-]{0,36}$/.test(id))
}

function isTexts(params: unknown): params is string[] {
  return Array.isArray(params) && params.every(param => typeof param === 'string')
}

function refused(code: number, msg: string, id: unknown): BinanceRequest {
  return { kind: 'error', answer: { error: { code, msg }, id } }
}
