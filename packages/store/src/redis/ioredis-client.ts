import { readFileSync } from 'node:fs'
import { type Clock, type Milliseconds, settingError } from '@kimchi/core'
import { Cluster, Redis } from 'ioredis'
import type { RedisTarget } from './redis-url.ts'

export interface ConnectOptions {
  /** Shown in CLIENT LIST, e.g. `kimchi-api`. @default 'kimchi' */
  readonly name?: string
  /** Longest wait for an answer. @default 2000 */
  readonly commandTimeoutMs?: Milliseconds
  /**
   * A connection with a command unanswered for this long is replaced; a command that is sent just then waits in vain,
   * so one that timed out is no reason yet. @default 2.5 × commandTimeoutMs
   */
  readonly deadAfterMs?: Milliseconds
  /** Spreads reconnects, 0 ≤ random() < 1. @default Math.random */
  readonly random?: () => number
  /** Waits for Redis. @default by the machine's clock */
  readonly wait?: Clock['wait'] | undefined
  /** @default a client with real sockets */
  readonly openClient?: OpenRedisClient | undefined
}

/** Makes the client of a connection, or of its subscriptions; it connects when it is told to. */
export type OpenRedisClient = (target: RedisTarget, options: ConnectOptions) => Redis | Cluster

/** How long to wait before the next attempt, counted from 0: 50 to 100 ms at first, at most 3 s. */
export function reconnectDelay(attempt: number, random = Math.random): Milliseconds {
  return Math.round(Math.min(100 * 2 ** attempt, 3_000) * (0.5 + random() / 2))
}

/** The client for a target: a command fails at once while Redis is away, and the client reconnects by itself. */
export function createClient(target: RedisTarget, options: ConnectOptions): Redis | Cluster {
  if (options.openClient !== undefined) return options.openClient(target, options)
  const settings = clientSettings(target, options)
  if (target.kind === 'single') return new Redis({ ...settings, ...target.hosts[0] })
  if (target.kind === 'sentinel') return createSentinelClient(target, settings)
  return new Cluster([...target.hosts], {
    redisOptions: settings,
    enableOfflineQueue: false,
    lazyConnect: true,
    clusterRetryStrategy: settings.retryStrategy,
    slotsRefreshTimeout: settings.commandTimeout,
  })
}

function createSentinelClient(target: RedisTarget, settings: ReturnType<typeof clientSettings>): Redis {
  return new Redis({
    ...settings,
    ...target.sentinel,
    sentinels: [...target.hosts],
    sentinelRetryStrategy: settings.retryStrategy,
    // A Sentinel that hangs must not keep the client from asking the next one.
    sentinelCommandTimeout: settings.commandTimeout,
    failoverDetector: true,
    ...(settings.tls && { sentinelTLS: settings.tls, enableTLSForSentinelMode: true }),
  })
}

function clientSettings(target: RedisTarget, options: ConnectOptions) {
  const { name = 'kimchi', commandTimeoutMs = 2_000, deadAfterMs = commandTimeoutMs * 2.5, random } = options
  return {
    ...target.login,
    ...(target.tlsFiles && { tls: readFiles(target.tlsFiles) }),
    protocol: 2 as const,
    connectionName: name,
    disableClientInfo: true,
    commandTimeout: commandTimeoutMs,
    connectTimeout: 5_000,
    // A peer whose machine vanished closes nothing.
    socketTimeout: deadAfterMs,
    retryStrategy: (attempt: number) => reconnectDelay(attempt, random),
    // While Redis loads its data the client asks again this often, whatever estimate Redis gives.
    maxLoadingRetryTime: 500,
    enableOfflineQueue: false,
    lazyConnect: true,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    // A demoted primary answers READONLY until the connection closes; the next one finds the new primary.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }
}

/** @throws KimchiError `KIMCHI_ERR_CONFIG` naming the file that can't be read */
function readFiles(files: Readonly<Record<string, string>>): Record<string, Buffer> {
  const read = (name: string, file: string) => {
    try {
      return readFileSync(file)
    } catch (thrown) {
      throw settingError(`REDIS_URL: ${name}`, 'a readable file', file, thrown)
    }
  }
  return Object.fromEntries(Object.entries(files).map(([name, file]) => [name, read(name, file)]))
}
