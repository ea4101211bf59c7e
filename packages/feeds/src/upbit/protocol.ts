import type { Market } from '@kimchi/core'
import type { Protocol } from '../feed/protocol.ts'
import { createUpbitDecoder } from './decoder.ts'

/**
 * Upbit's public ticker channel: all markets in one subscription on one connection.
 *
 * Never send an `Origin` header here: Upbit throttles such clients to one request in ten seconds.
 * @see docs/exchanges.md#upbit-websocket
 */
export const upbitProtocol: Protocol = {
  exchange: 'upbit',
  urlOf: base => base,
  subscribe: (_previous, next, id) => [subscription(next, id)],
  createDecoder: createUpbitDecoder,
  stallAfterMs: 30_000,
  maxAgeMs: undefined,
  // Upbit cuts a connection that has been quiet for a minute.
  pingEveryMs: 20_000,
  // Limits are 5 messages a second and 100 a minute.
  sendSpacingMs: 1_000,
}

function subscription(markets: readonly Market[], id: number): string {
  return JSON.stringify([{ ticket: `kimchi-${id.toString(36)}` }, { type: 'ticker', codes: markets }])
}
