import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { Clock, Milliseconds } from '@kimchi/core'

/** How often a drain counts the open connections. */
const DRAIN_STEP_MS: Milliseconds = 100

/**
 * How long a replica that is about to end still accepts connections, so that a balancer that asks `/serving` can
 * stop sending requests.
 */
const ACCEPT_FOR_MS: Milliseconds = 1_000

/** How long responses, and requests on kept connections, may take once no new connection is accepted. */
const FINISH_WITHIN_MS: Milliseconds = 1_000

/** A drain waits for so many turns of the event loop at most; even under load one of them brings no new connection. */
const MAX_TURNS = 1_000

/**
 * Drains a server without resetting connections: for a second it goes on as before; then it accepts no new
 * connection, and every response says that it is the last on its connection; after another second it cuts what
 * is left. The other second ends early when nobody is connected.
 */
export async function drain(server: Server, clock: Clock): Promise<void> {
  // Also when nobody is connected: a balancer may send its next request over a new connection.
  await clock.wait(ACCEPT_FOR_MS)
  await quietTurn(server)
  // An HTTP server's own close() would cut kept connections at once, even those with a request on its way.
  NetServer.prototype.close.call(server)
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
  await untilUnused(server, clock)
  server.closeAllConnections()
}

async function untilUnused(server: Server, clock: Clock): Promise<void> {
  let waited: Milliseconds = 0
  while (waited < FINISH_WITHIN_MS && (await connectionCount(server)) > 0) {
    await clock.wait(DRAIN_STEP_MS)
    waited += DRAIN_STEP_MS
  }
}

/**
 * Waits for a turn of the event loop without a new connection: when the listener closes, the kernel resets the
 * connections that wait to be accepted.
 */
async function quietTurn(server: Server): Promise<void> {
  let accepted = 0
  const count = () => {
    accepted += 1
  }
  server.on('connection', count)
  for (let turn = 0, before = -1; turn < MAX_TURNS && accepted !== before; turn++) {
    before = accepted
    // The first callback may still belong to this turn, which has already polled for connections.
    await setImmediate()
    await setImmediate()
  }
  server.off('connection', count)
}

function connectionCount(server: Server): Promise<number> {
  return new Promise(resolve => server.getConnections((_error, count) => resolve(count ?? 0)))
}
