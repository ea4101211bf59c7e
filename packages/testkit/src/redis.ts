import { type EmbeddedRedis, projectRedis, type RedisBinary, startEmbeddedRedis } from '@kimchi/local-redis'
import { Redis, type RedisOptions } from 'ioredis'
import { createFolder, type Teardown } from './teardown.ts'

/** A raw client, for what a test does to a server and finds in it. */
export type RawRedis = Redis

export interface TestRedisOptions {
  /** Append-only file. @default false */
  readonly appendonly?: boolean
  /** More of redis-server's own arguments. */
  readonly args?: readonly string[]
}

type ClientOptions = Pick<RedisOptions, 'port' | 'commandTimeout' | 'username' | 'password' | 'protocol'>

/** Found once, because a look runs each program that it finds. */
let binaryFound: Promise<RedisBinary> | undefined

/** A private server of one test. */
export type TestRedis = Awaited<ReturnType<typeof startRedis>>

/** Starts a private redis-server on a free port in a temporary folder; both go with the test. */
export async function startRedis(t: Teardown, options: TestRedisOptions = {}) {
  binaryFound ??= projectRedis()
  const binary = await binaryFound
  const dir = await createFolder(t)
  const args = ['--appendonly', options.appendonly ? 'yes' : 'no', ...(options.args ?? [])]
  const start = (port: number, more: readonly string[] = []) =>
    startEmbeddedRedis({ binary, dir, port, args: [...args, ...more] })
  // A second try, where another test took the port between choosing and listening.
  let server: EmbeddedRedis = await start(0).catch(() => start(0))
  t.teardown(() => server.stop())
  const { port, url } = server
  const kill = async () => {
    server.kill('SIGKILL')
    await server.exited
  }
  const restart = async (more?: readonly string[]) => {
    server = await start(port, more)
  }
  const pause = () => server.kill('SIGSTOP')
  const resume = () => server.kill('SIGCONT')
  return {
    url,
    port,
    /** Data folder; kept over `restart`. */
    dir,
    binary,
    /** A raw client for assertions, closed with the test. @param options.port another server than this one */
    client: (clientOptions: ClientOptions = {}) => {
      const client = new Redis({ port, ...clientOptions })
      // Tests kill and freeze the server; what its commands answer is what matters.
      client.on('error', () => {})
      t.teardown(() => client.disconnect())
      return client
    },
    /** Ends the server at once (SIGKILL). */
    kill,
    /** Ends the server in order (SIGTERM). */
    stop: () => server.stop(),
    /** Starts a server again on the same port and folder. @param more arguments, for this start alone */
    restart,
    /** Freezes the server: alive, not answering (SIGSTOP). */
    pause,
    resume,
  }
}
