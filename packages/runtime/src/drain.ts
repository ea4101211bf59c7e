import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { Clock, Milliseconds } from '@kimchi/core'

/** How often a drain looks whether everyone has gone. */
const DRAIN_STEP_MS: Milliseconds = 100

/**
 * How long a replica that is about to end still accepts; by then a balancer that asks `/serving` sends
 * nothing new.
 */
const ACCEPT_FOR_MS: Milliseconds = 1_000

/**
 * The longest wait for responses, and for kept connections to be used once more, when nothing new is
 * accepted.
 */
const FINISH_WITHIN_MS: Milliseconds = 1_000

/** Turns of the event loop within which one without a new connection comes even under load. */
const MAX_TURNS = 1_000

/**
 * Drains a server without resetting connections: for a second all goes on as before, then nothing new is
 * accepted and every response says that it is the last on its connection, and after another second what is
 * left is cut. That second ends early when nobody is connected.
 */
export async function drain(server: Server, clock: Clock): Promise<void> {
  // Whoever is connected: a balancer may send its next request over a new connection.
  await clock.wait(ACCEPT_FOR_MS)
  await quietTurn(server)
  // The close of HTTP servers cuts kept connections at once, in the middle of whatever is on its way to us.
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
 * A turn of the event loop without a new connection: one that waits while the listener closes is reset by
 * the kernel.
 */
async function quietTurn(server: Server): Promise<void> {
  let accepted = 0
  const count = () => {
    accepted += 1
  }
  server.on('connection', count)
  for (let turn = 0, before = -1; turn < MAX_TURNS && accepted !== before; turn++) {
    before = accepted
    // The first may come in the turn under way, which has looked for connections already.
    await setImmediate()
    await setImmediate()
  }
  server.off('connection', count)
}

/** Open connections. */
export function connectionCount(server: Server): Promise<number> {
  return new Promise(resolve => server.getConnections((_error, count) => resolve(count ?? 0)))
}
