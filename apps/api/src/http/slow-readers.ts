import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Milliseconds } from '@kimchi/core'
import type { RequestCounters } from './request-counters.ts'

/** Node cuts slow senders; slow readers, whose responses pile up in our memory, it does not. */
export function cutSlowReaders(
  server: Server,
  counters: RequestCounters,
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
        counters.cut['slow-reader'] += 1
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
