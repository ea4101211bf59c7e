import type { IncomingMessage } from 'node:http'
import { type EpochMs, type Exchange, KimchiError, messageOf } from '@kimchi/core'
import { httpErrorOf } from '../http-error.ts'
import { statedWait } from '../retry-after.ts'

/** The exchange refuses our subscription by an error frame: its list may have changed. */
export class SubscriptionRefused extends KimchiError {}

/** @param what the exchange did: `connection: closed with code 1006` */
export function refusal(exchange: Exchange, what: string): KimchiError {
  return new KimchiError('KIMCHI_ERR_FEED_REFUSED', `${exchange} ${what}`)
}

/** Why a handshake was answered with something else than a WebSocket. */
export function handshakeError(exchange: Exchange, response: IncomingMessage, now: EpochMs): KimchiError {
  const { statusCode: status = 0, headers } = response
  response.resume()
  return httpErrorOf(
    exchange,
    'handshake',
    status,
    statedWait({ status, header: headers['retry-after'] }, now),
  )
}

/** `KIMCHI_ERR_FRAME` for bytes that are no WebSocket's. */
export function socketError(exchange: Exchange, cause: Error): KimchiError {
  const code = 'code' in cause ? String(cause.code) : ''
  const kind = code.startsWith('WS_ERR_') ? 'KIMCHI_ERR_FRAME' : 'KIMCHI_ERR_FEED_REFUSED'
  return new KimchiError(kind, `${exchange} connection: ${messageOf(cause)}`, { cause })
}
