import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, type RequestOptions, request } from 'node:http'

/** A response as it came, nothing decoded. */
export interface RawResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** One request to this machine, over a connection of its own or one of `options.agent`. */
export async function ask(port: number, path: string, options: RequestOptions = {}): Promise<RawResponse> {
  const asking = request({ host: '127.0.0.1', port, path, agent: false, ...options }).end()
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  // From here on the response reports errors too.
  asking.on('error', () => {})
  const body = Buffer.concat(await response.toArray())
  return { status: response.statusCode ?? 0, headers: response.headers, body }
}
