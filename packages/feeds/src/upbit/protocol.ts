import type { Market } from '@kimchi/core'
import { DEFAULT_BASES } from '../bases.ts'
import type { Protocol } from '../feed/protocol.ts'
import { createUpbitDecoder } from './decoder.ts'

/**
 * Upbit's public ticker channel: all markets in one subscription on one connection.
 *
 * Never send an `Origin` header here: Upbit throttles such clients to one request in ten seconds.
 * @param bases the whole WebSocket address @default the Korean site; its sisters list other markets
 * @see docs/exchanges.md#upbit-websocket
 */
export function upbitProtocol(bases: string | readonly string[] = DEFAULT_BASES.UPBIT_WS_URL): Protocol {
  return {
    exchange: 'upbit',
    bases: [bases].flat(),
    urlOf: base => base,
    subscribe: (_previous, next, id) => [subscription(next, id)],
    createDecoder: createUpbitDecoder,
    stallAfterMs: 30_000,
    maxAgeMs: undefined,
    // Upbit closes after 60 s without a ping.
    pingEveryMs: 20_000,
    // Limits are 5 messages a second and 100 a minute.
    sendSpacingMs: 1_000,
  }
}

function subscription(markets: readonly Market[], id: number): string {
  return JSON.stringify([{ ticket: `kimchi-${id.toString(36)}` }, { type: 'ticker', codes: markets }])
}
