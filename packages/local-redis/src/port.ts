import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

const HOST = '127.0.0.1'

/** A TCP port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  return listenOnce(0)
}

/** Whether a program can listen on a TCP port of 127.0.0.1 right now. */
export function isPortFree(port: number): Promise<boolean> {
  return listenOnce(port).then(
    () => true,
    () => false,
  )
}

async function listenOnce(port: number): Promise<number> {
  const server = createServer().listen(port, HOST)
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return address.port
}
