import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RedisBinary } from '@kimchi/local-redis'
import { type EmbeddedRedis, projectRedis, startEmbeddedRedis } from '@kimchi/local-redis'
import { Redis } from 'ioredis'

/** A raw client, for what a test does to a server and finds in it. */
export type RawRedis = Redis

/** The part of a tap test that is used: what to do when it is over. */
export interface Teardown {
  teardown(close: () => unknown): void
}

/** How a test's server is started. */
export interface TestRedisOptions {
  /** Append-only file. @default false */
  readonly appendonly?: boolean
  /** More of redis-server's own arguments. */
  readonly args?: readonly string[]
  /** Text of the PATH variable. @default this program's */
  readonly path?: string
}

/** A private server of one test. */
export interface TestRedis {
  readonly url: string
  readonly port: number
  /** Data folder; kept over {@link TestRedis.restart}. */
  readonly dir: string
  readonly binary: RedisBinary
  /** A raw client for assertions, closed with the server. @param options.port another server than this one */
  client(options?: {
    readonly port?: number
    readonly commandTimeout?: number
    readonly username?: string
    readonly password?: string
  }): RawRedis
  /** Ends the server at once (SIGKILL). */
  kill(): Promise<void>
  /** Ends the server in order (SIGTERM). */
  stop(): Promise<void>
  /** Starts a server again on the same port and folder. */
  restart(): Promise<void>
  /** Freezes the server: alive, not answering (SIGSTOP). */
  pause(): void
  /** Ends {@link TestRedis.pause}. */
  resume(): void
  /** Ends everything and removes the folder; done by `t.teardown` when a test was given. */
  close(): Promise<void>
}

/**
 * Starts a private redis-server on a free port in a temporary folder; torn down with the test when one is
 * given.
 */
export async function startRedis(t?: Teardown, options: TestRedisOptions = {}): Promise<TestRedis> {
  const binary = await projectRedis(options.path ?? process.env.PATH ?? '')
  const dir = await mkdtemp(join(tmpdir(), 'kimchi-redis-'))
  const { appendonly = false, args = [] } = options
  const start = (port: number) => startEmbeddedRedis({ binary, dir, port, appendonly, args })
  let server: EmbeddedRedis
  try {
    server = await start(0)
  } catch {
    // Another test took the port between choosing and listening.
    server = await start(0)
  }
  const { port, url } = server
  const clients: Redis[] = []
  const redis: TestRedis = {
    url,
    port,
    dir,
    binary,
    client: clientOptions => {
      const client = new Redis({ port, ...clientOptions })
      // Tests take the server away on purpose; what matters is what the commands answer.
      client.on('error', () => {})
      clients.push(client)
      return client
    },
    kill: async () => {
      server.kill('SIGKILL')
      await server.exited
    },
    stop: async () => {
      await server.stop()
    },
    restart: async () => {
      server = await start(port)
    },
    pause: () => server.kill('SIGSTOP'),
    resume: () => server.kill('SIGCONT'),
    close: async () => {
      for (const client of clients) client.disconnect()
      await server.stop()
      await rm(dir, { recursive: true, force: true })
    },
  }
  t?.teardown(() => redis.close())
  return redis
}
