import { fileURLToPath } from 'node:url'
import { freePort } from '@kimchi/local-redis'
import { type Program, startProgram, type Teardown } from '@kimchi/testkit'

const API = fileURLToPath(new URL('../../apps/api/dist/main.js', import.meta.url))

/** One API process; it can be ended and started again at its address. */
export type Replica = Awaited<ReturnType<typeof startReplica>>

/**
 * Starts API processes. One name stands for all of them, so they have one port, and each an address of its own.
 */
export async function startReplicas(t: Teardown, redisUrl: string, count = 1) {
  const apiPort = await freePort()
  const own = { REDIS_URL: redisUrl, PORT: String(apiPort) }
  const addresses = Array.from({ length: count }, (_, index) => `127.0.0.${index + 1}`)
  const replicas = await Promise.all(addresses.map(address => startReplica(t, address, own)))
  return { apiPort, addresses, replicas }
}

async function startReplica(t: Teardown, address: string, env: Record<string, string>) {
  const startAt = async (opsPort: number) => {
    const process = startProgram(t, [API], { HOST: address, OPS_PORT: String(opsPort), ...env })
    return { process, opsPort: await opsPortOf(process) }
  }
  const first = await startAt(0)
  const replica = {
    address,
    ...first,
    /** Starts it again, with the port that it chose, and waits until it has read Redis. */
    async start() {
      replica.process = (await startAt(first.opsPort)).process
    },
  }
  return replica
}

/** The port of `/metrics` and `/ready` that an app or an ingester of a testbed says it listens on. */
export async function opsPortOf(app: Program): Promise<number> {
  return JSON.parse(await app.line(line => line.includes('"opsPort"'))).opsPort
}

/** The parsed JSON answer of a GET with its status, or undefined when there is no response. */
export async function getJson<T>(url: string): Promise<{ status: number; body: T } | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(30_000) })
    return { status: response.status, body: (await response.json()) as T }
  } catch {
    return undefined
  }
}
