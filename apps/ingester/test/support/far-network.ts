import dns from 'node:dns'
import { createServer, isIP } from 'node:net'
import type { Milliseconds } from '@kimchi/core'

/** An address of a name in a test's network. */
export interface FarAddress {
  readonly address: string
  /** How long its TCP handshake takes. What comes to it arrives at loopback; without this nothing answers there. */
  readonly delayMs?: Milliseconds
}

interface ConnectRequest {
  oncomplete: (...args: readonly unknown[]) => void
}

type Connect = (this: unknown, request: ConnectRequest, address: string, port: number) => number

/**
 * Puts names far away for this process, as if its name server and the network did: by real sockets, below `net`.
 * @param hosts their addresses, in the order of the name server's answer
 */
export function placeFar(hosts: Readonly<Record<string, readonly FarAddress[]>>): void {
  const addresses = new Map(Object.values(hosts).flatMap(all => all.map(far => [far.address, far])))
  const lookup = dns.lookup as (...args: unknown[]) => void
  const lookUp = (host: string, options: { all?: boolean }, done: (...args: unknown[]) => void) => {
    const found = hosts[host]?.map(({ address }) => ({ address, family: isIP(address) }))
    if (found === undefined) return lookup(host, options, done)
    const [first] = found
    process.nextTick(() => (options.all ? done(null, found) : done(null, first?.address, first?.family)))
  }
  dns.lookup = lookUp as unknown as typeof dns.lookup
  const server = createServer().listen(0)
  const tcp = Object.getPrototypeOf((server as unknown as { _handle: object })._handle)
  server.close()
  const connect: Connect = tcp.connect
  for (const name of ['connect', 'connect6']) {
    const original: Connect = tcp[name]
    tcp[name] = function (this: unknown, request: ConnectRequest, address: string, port: number) {
      const far = addresses.get(address)
      if (far === undefined) return original.call(this, request, address, port)
      const { delayMs } = far
      if (delayMs === undefined) return 0
      const { oncomplete } = request
      request.oncomplete = (...args) => void setTimeout(() => oncomplete(...args), delayMs)
      return connect.call(this, request, '127.0.0.1', port)
    }
  }
}

// Where it is started with --import, before a program.
const { FAR_HOSTS } = process.env
if (FAR_HOSTS !== undefined) placeFar(JSON.parse(FAR_HOSTS))
