import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Milliseconds } from '@kimchi/core'
import type { ErrorCode } from '../contract/errors.ts'
import { errorResponse } from './error-response.ts'
import type { RequestCounters } from './request-counters.ts'
import type { HttpResponse } from './response.ts'

/** A refused client gets this long to read why, before the connection is cut. */
const LINGER_MS: Milliseconds = 500

const CODES: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/**
 * Answers a client whose request Node could not parse: too large, too slow, malformed.
 * @param last the newest response of this connection; when it is sent, so are all before it
 */
export function refuseClient(
  error: NodeJS.ErrnoException,
  socket: Socket,
  last: ServerResponse | undefined,
  counters: RequestCounters,
): void {
  const response = errorResponse(CODES[error.code ?? ''] ?? 'bad_request')
  const finish = () => {
    if (!socket.writable) return
    counters.count('other', response.status, 0)
    socket.end(bytesOf(response))
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }
  if (error.code === 'ECONNRESET') socket.destroy()
  else if (last === undefined || last.closed) finish()
  else last.once('close', finish)
}

function bytesOf({ status, headers, body = Buffer.alloc(0) }: HttpResponse): Buffer {
  const fields = [...headers, 'date', new Date().toUTCString(), 'connection', 'close']
  const lines = fields.map((field, index) => (index % 2 === 0 ? `${field}: ` : `${field}\r\n`))
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`),
    body,
  ])
}
