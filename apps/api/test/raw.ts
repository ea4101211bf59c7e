import { connect, type Socket } from 'node:net'
import type { SeenAnswer } from './contract.ts'

export const LIVE = '/api/v1/kimchi-premium'
export const DAILY = `${LIVE}/BTC/daily`

/** A request for the list, after which its connection stays. */
export const GET = `GET ${LIVE} HTTP/1.1\r\nHost: api.example\r\n\r\n`

/** A bare TCP connection, to send what no HTTP client would send. */
export interface RawConnection {
  readonly socket: Socket
  /** Everything received so far. */
  bytes(): Buffer
  /** Resolves when the server has closed the connection. */
  readonly closed: Promise<void>
}

/** Connects and writes these bytes. */
export async function openRaw(port: number, bytes: string | Buffer = ''): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1' })
  const chunks: Buffer[] = []
  socket.on('data', chunk => chunks.push(chunk))
  // A refused client may be reset while it still sends; the tests judge what it received, and that it is closed.
  socket.on('error', () => {})
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  if (bytes.length > 0) socket.write(bytes)
  return { socket, bytes: () => Buffer.concat(chunks), closed }
}

/** An answer with its body as it came over the wire. */
export interface RawAnswer extends SeenAnswer {
  readonly rawBody: Buffer
}

/** Writes these bytes and resolves with all answers when the server has closed the connection. */
export async function exchange(port: number, bytes: string | Buffer): Promise<readonly RawAnswer[]> {
  const { bytes: received, closed } = await openRaw(port, bytes)
  await closed
  return parseAnswers(received())
}

/**
 * The answer to one request, the last of its connection.
 * @param headers each with its line break
 */
export async function askRaw(port: number, target: string, { method = 'GET', headers = '' } = {}) {
  const request = `${method} ${target} HTTP/1.1\r\nHost: api.example\r\n${headers}Connection: close\r\n\r\n`
  const [answer] = await exchange(port, Buffer.from(request, 'latin1'))
  if (answer === undefined) throw new Error('no answer at all')
  return answer
}

/** The answers in the bytes received; bodies by Content-Length. */
export function parseAnswers(bytes: Buffer): readonly RawAnswer[] {
  const answers: RawAnswer[] = []
  let rest = bytes
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) throw new Error(`not an HTTP answer: ${JSON.stringify(String(rest.subarray(0, 200)))}`)
    const [statusLine = '', ...lines] = String(rest.subarray(0, end)).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
    const headers = Object.fromEntries(
      lines.map(line => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    )
    const length = status === 204 || status === 304 ? 0 : Number(headers['content-length'] ?? 0)
    const rawBody = rest.subarray(end + 4, end + 4 + length)
    answers.push({ status, headers, body: String(rawBody), rawBody })
    rest = rest.subarray(end + 4 + length)
  }
  return answers
}
