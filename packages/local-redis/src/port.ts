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
  return probePort({ host: HOST, port }).then(() => port, freePort)
}

/** Listens there for a moment. @throws what the system says where nobody can */
export async function probePort(address: { readonly host: string; readonly port: number }): Promise<void> {
  const server = createServer().listen(address)
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}
