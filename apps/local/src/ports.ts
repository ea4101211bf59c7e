import { freePort, probePort } from '@kimchi/local-redis'
import { listenAt } from '@kimchi/runtime'

const LOOPBACK = '127.0.0.1'

/** What a variable asks for, and its name. */
export interface Asked {
  readonly name: 'PORT' | 'PAGE_PORT'
  /** 0 asks for any free one. @default the first free one from the default up */
  readonly port: number | undefined
  readonly host: string
}

/**
 * The port that was asked for, else the first free one from the default up: the same at each start.
 * @throws KimchiError `KIMCHI_ERR_CONFIG` when a port that was asked for is taken, or its host is none of this machine
 */
export async function pickPort(fallback: number, asked?: Asked): Promise<number> {
  const { name = 'PORT', port: wanted, host = LOOPBACK } = asked ?? {}
  if (wanted === 0) return freePort()
  for (let port = wanted ?? fallback; ; port += 1) {
    try {
      await listenAt(name, { host, port }, probePort)
      return port
    } catch (thrown) {
      // Somebody has the port, or the system keeps it.
      const { cause } = thrown as { cause?: { code?: string } }
      const isTaken = ['EADDRINUSE', 'EACCES'].includes(cause?.code ?? '')
      if (wanted !== undefined || !isTaken) throw thrown
    }
  }
}

/** Where a program of this machine reaches a server that listens on a host: on every address it is on this one. */
export function urlOf(host: string, port: number): string {
  const address = host === '0.0.0.0' || host === '::' ? LOOPBACK : host
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`
}
