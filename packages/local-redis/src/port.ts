import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

const HOST = '127.0.0.1'

/**
 * Below the ports that a system gives to outgoing connections: one of those might be in use again when a server that
 * was ended comes back to its port.
 */
const [FIRST, END] = [15_000, 32_768]

/** A TCP port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  const port = randomInt(FIRST, END)
  return (await isPortFree(port)) ? port : freePort()
}

/** Whether a program can listen on a TCP port of 127.0.0.1 right now. */
export async function isPortFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, HOST)
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
