import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Milliseconds } from '@kimchi/core'

/**
 * So many requests waiting behind others within {@link WINDOW_MS} are a flood: nobody who reads responses
 * needs them.
 */
const FLOOD = 1_000
const WINDOW_MS: Milliseconds = 60_000

/** About what the parser gets at a time during a flood: some 80 of the shortest requests. */
const SLICE_BYTES = 4_096

/** How a request without a body ends. */
const END = '\r\n\r\n'

/**
 * Bounds what a client costs that pipelines requests and reads no responses. Node stops reading such a
 * connection, but only after the piece it is at: 64 KB, or 1,300 requests of 2 to 4 KB of memory. Cutting
 * every piece would cost all clients an eighth more CPU, so that it is done only while there is a flood.
 */
export function limitPipelining(server: Server): void {
  const open = new Set<Socket>()
  let queued = 0
  let isFlooded = false
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    if (isFlooded) readInSlices(socket)
  })
  server.on('request', (_request, response) => {
    // No socket: another response of this connection has to be sent first.
    if (response.socket !== null) return
    queued += 1
    if (queued !== FLOOD || isFlooded) return
    isFlooded = true
    // Not from within the parser; and a connection that Node has stopped reading can't be taken over, but
    // waits anyway.
    setImmediate(() => {
      for (const socket of open) if (!socket.isPaused()) readInSlices(socket)
    })
  })
  const timer = setInterval(() => {
    isFlooded = queued >= FLOOD
    queued = 0
  }, WINDOW_MS).unref()
  server.on('close', () => clearInterval(timer))
}

/** Hands what is received to Node's parser in slices, for as long as Node wants to read. */
function readInSlices(socket: Socket): void {
  const [parse] = socket.listeners('data')
  if (parse === undefined) return
  socket.removeAllListeners('data')
  socket.on('data', (received: Buffer) => {
    let rest = received
    while (rest.length > 0 && !socket.isPaused()) {
      const end = endOfSlice(rest)
      parse(rest.subarray(0, end))
      rest = rest.subarray(end)
    }
    if (rest.length > 0) socket.unshift(rest)
  })
}

/** With the end of a request: one of which we hold back the rest would be taken for one that is late. */
function endOfSlice(bytes: Buffer): number {
  const last = bytes.lastIndexOf(END, SLICE_BYTES - END.length)
  const end = last >= 0 ? last : bytes.indexOf(END)
  return end < 0 ? bytes.length : end + END.length
}
