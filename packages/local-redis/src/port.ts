import { createServer } from 'node:net'

/** A TCP port that was free a moment ago. */
export function freePort(host = '127.0.0.1'): Promise<number> {
  return listenOnce(0, host)
}

/** Whether a TCP port can be listened on right now. */
export async function isPortFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  try {
    await listenOnce(port, host)
    return true
  } catch {
    return false
  }
}

function listenOnce(port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(port, host, () => {
      const address = server.address()
      const listened = typeof address === 'object' && address !== null ? address.port : port
      server.close(() => resolve(listened))
    })
  })
}
