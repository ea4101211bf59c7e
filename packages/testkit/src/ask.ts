import { once } from 'node:events'
import {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  request,
} from 'node:http'

/** A response as it came, nothing decoded. */
export interface RawResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** One request to this machine, over a connection of its own or one of `options.agent`. */
export async function ask(port: number, path: string, options: RequestOptions = {}): Promise<RawResponse> {
  return read(await responseTo(send(port, path, options)))
}

/**
 * As {@link ask}, but a kept connection that turns out to be closed is replaced by a fresh one, as HTTP
 * clients do. @see RFC 9112 §9.3.1
 */
export async function askTwice(
  port: number,
  path: string,
  options: RequestOptions = {},
): Promise<RawResponse> {
  const asking = send(port, path, options)
  const response = await responseTo(asking).catch(error => {
    if (!asking.reusedSocket) throw error
    return responseTo(send(port, path, { ...options, agent: false }))
  })
  return read(response)
}

function send(port: number, path: string, options: RequestOptions): ClientRequest {
  return request({ host: '127.0.0.1', port, path, agent: false, ...options }).end()
}

async function responseTo(asking: ClientRequest): Promise<IncomingMessage> {
  const [response] = await once(asking, 'response')
  // From here on the response reports errors too.
  asking.on('error', () => {})
  return response
}

async function read(response: IncomingMessage): Promise<RawResponse> {
  const body = Buffer.concat(await response.toArray())
  return { status: response.statusCode ?? 0, headers: response.headers, body }
}
