import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, Milliseconds } from '@kimchi/core'
import type { Traffic } from './traffic.ts'

/** How long a replica that is about to end goes on accepting, in steps; by then proxies have seen `/ready` and `close`. */
const DRAIN_STEP_MS: Milliseconds = 200
const DRAIN_STEPS = 5

/** The longest wait for answers that are still being read when nothing new is accepted any more. */
const FINISH_WITHIN_MS: Milliseconds = 1_500

/**
 * Lets a server's clients go before it closes: for up to a second it goes on accepting and asks everyone to close after
 * their answer, so that nobody meets a reset connection. Then it is closed by `close`, and cut if that takes too long.
 */
export async function drain(server: Server, clock: Clock, close: () => PromiseLike<unknown>): Promise<void> {
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
  for (let step = 0; step < DRAIN_STEPS && server.listening; step++) {
    await clock.wait(DRAIN_STEP_MS)
    if ((await connectionsOf(server)) === 0) break
  }
  // Right after the event loop took all waiting connections: one that waits when the listener closes would be reset.
  await new Promise(resolve => setImmediate(resolve))
  server.close()
  const closed = close()
  const closing = new AbortController()
  await Promise.race([closed, clock.wait(FINISH_WITHIN_MS, closing.signal)])
  closing.abort()
  server.closeAllConnections()
  await closed
}

/** Open connections. */
export function connectionsOf(server: Server): Promise<number> {
  return new Promise(resolve => server.getConnections((_error, count) => resolve(count ?? 0)))
}

/** Node cuts slow senders; slow readers, whose answers pile up in our memory, it does not. */
export function cutSlowReaders(
  server: Server,
  traffic: Traffic,
  { slowReaderTimeout, checkEvery }: { slowReaderTimeout: Milliseconds; checkEvery: Milliseconds },
): void {
  const open = new Set<Socket>()
  const stuck = new WeakMap<Socket, { readonly sent: number; readonly since: number }>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  let elapsed: Milliseconds = 0
  const check = () => {
    elapsed += checkEvery
    for (const socket of open) {
      const sent = socket.bytesWritten - socket.writableLength
      const before = stuck.get(socket)
      if (socket.writableLength === 0 || before?.sent !== sent) stuck.set(socket, { sent, since: elapsed })
      else if (elapsed - before.since >= slowReaderTimeout) {
        traffic.cut['slow-reader'] += 1
        socket.destroy()
      }
    }
  }
  let timer: NodeJS.Timeout | undefined
  server.on('listening', () => {
    timer = setInterval(check, checkEvery).unref()
  })
  server.on('close', () => clearInterval(timer))
}
