import { once } from 'node:events'
import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { Clock, Milliseconds } from '@kimchi/core'

/**
 * How long a replica that is about to end still accepts connections, so that a balancer that asks `/serving` can
 * stop sending requests.
 */
const ACCEPT_FOR_MS: Milliseconds = 1_000

/** How long responses, and requests on kept connections, may take once no new connection is accepted. */
const FINISH_WITHIN_MS: Milliseconds = 1_000

/** So many connections may wait to be accepted, and a turn of the event loop accepts at least one of them. */
const BACKLOG = 511

/** Where turns are long because many requests come, this long is enough: each accepts many connections. */
const EMPTY_WITHIN_MS: Milliseconds = 500

/**
 * Drains a server without resetting connections: for a second it goes on as before; then it accepts no new
 * connection, and every response says that it is the last on its connection; after another second it cuts what
 * is left. The other second ends early when nobody is connected.
 */
export async function drain(server: Server, clock: Clock): Promise<void> {
  // Also when nobody is connected: a balancer may send its next request over a new connection.
  await clock.wait(ACCEPT_FOR_MS)
  // The kernel resets the connections that still wait to be accepted when the listener closes.
  const until = clock.elapsed() + EMPTY_WITHIN_MS
  for (let turn = 0; turn <= BACKLOG && clock.elapsed() < until; turn++) await setImmediate()
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
  const unused = once(server, 'close')
  // An HTTP server's own close() would cut kept connections at once, even those with a request on its way.
  NetServer.prototype.close.call(server)
  const waiting = new AbortController()
  await Promise.race([unused, clock.wait(FINISH_WITHIN_MS, waiting.signal)])
  waiting.abort()
  server.closeAllConnections()
}
