import { readFileSync } from 'node:fs'
import { KimchiError, type Milliseconds, messageOf } from '@kimchi/core'
import { Cluster, Redis } from 'ioredis'
import type { RedisTarget } from './redis-url.ts'

/** How a connection is made. */
export interface ConnectOptions {
  /** Shown in CLIENT LIST, e.g. `kimchi-api`. @default 'kimchi' */
  readonly name?: string
  /** Longest wait for an answer. @default 2000 */
  readonly commandTimeoutMs?: Milliseconds
  /** A command unanswered this long, and the connection is replaced. @default 2.5 × commandTimeoutMs */
  readonly deadAfterMs?: Milliseconds
  /** Spreads reconnects, 0 ≤ random() < 1. @default Math.random */
  readonly random?: () => number
}

/** A client that stays until it is closed. */
export interface Client {
  readonly client: Redis | Cluster
  close(): void
}

/**
 * The client for a target: fails fast while Redis is away, reconnects with jittered backoff until it is
 * closed.
 */
export function openClient(target: RedisTarget, options: ConnectOptions): Client {
  const { random = Math.random } = options
  const delay = (attempt: number) =>
    Math.round(Math.min(100 * 2 ** Math.min(attempt, 6), 3_000) * (0.5 + random() / 2))
  const client = createClient(target, options, delay)
  // Behind Sentinel it gives up when a failover is announced while it asks for the primary.
  let revival: NodeJS.Timeout | undefined
  const revive = () => {
    // What it reports of the attempt comes as an event as well.
    revival = setTimeout(() => client.connect().catch(() => {}), delay(0))
  }
  client.on('end', revive)
  return {
    client,
    close: () => {
      client.off('end', revive)
      clearTimeout(revival)
      client.disconnect()
    },
  }
}

function createClient(
  target: RedisTarget,
  options: ConnectOptions,
  delay: (attempt: number) => Milliseconds,
): Redis | Cluster {
  const common = commonOptions(target, options)
  if (target.kind === 'cluster') {
    return new Cluster([...target.hosts], {
      redisOptions: common,
      enableOfflineQueue: false,
      clusterRetryStrategy: delay,
      slotsRefreshTimeout: options.commandTimeoutMs ?? 2_000,
      scaleReads: CLUSTER_READS[target.reads],
      // Else a replica that joins later is never heard of.
      ...(target.reads === 'primary' ? {} : { slotsRefreshInterval: 10_000 }),
    })
  }
  if (target.kind === 'single') {
    return new Redis({ ...common, ...target.hosts[0], enableOfflineQueue: false, retryStrategy: delay })
  }
  return createSentinelClient(target, options, delay)
}

/** As ioredis calls them. */
const CLUSTER_READS = { primary: 'master', replica: 'slave', all: 'all' } as const

function createSentinelClient(
  target: RedisTarget,
  options: ConnectOptions,
  delay: (attempt: number) => Milliseconds,
): Redis {
  const wanted = target.reads === 'replica' ? 'slave' : 'master'
  const client = new Redis({
    ...commonOptions(target, options),
    enableOfflineQueue: false,
    role: wanted,
    retryStrategy: attempt => {
      client.options.role = wanted
      return delay(attempt)
    },
    sentinels: [...target.hosts],
    name: target.sentinelName ?? '',
    sentinelUsername: target.sentinelUsername,
    sentinelPassword: target.sentinelPassword,
    sentinelRetryStrategy: attempt => {
      // No Sentinel knows a replica now, as after a failover with two servers: better the primary than none.
      client.options.role = attempt % 2 === 1 ? 'master' : wanted
      return delay(attempt)
    },
    // One that hangs must not keep us from asking the next.
    sentinelCommandTimeout: options.commandTimeoutMs ?? 2_000,
    failoverDetector: true,
    enableTLSForSentinelMode: target.tls,
    ...(target.tls ? { sentinelTLS: tlsOptions(target) } : {}),
  })
  return client
}

function commonOptions(target: RedisTarget, options: ConnectOptions) {
  return {
    username: target.username,
    password: target.password,
    db: target.db,
    ...(target.tls ? { tls: tlsOptions(target) } : {}),
    protocol: 2 as const,
    connectionName: options.name ?? 'kimchi',
    disableClientInfo: true,
    commandTimeout: options.commandTimeoutMs ?? 2_000,
    connectTimeout: 5_000,
    // For a peer that vanished without a word.
    socketTimeout: options.deadAfterMs ?? (options.commandTimeoutMs ?? 2_000) * 2.5,
    // While Redis loads its data the client asks again this often, whatever estimate Redis gives.
    maxLoadingRetryTime: 500,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: null,
    // A demoted primary answers READONLY on this connection until it closes; the next one finds the new
    // primary.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }
}

/** @throws KimchiError `KIMCHI_ERR_CONFIG` naming the file that can't be read */
function tlsOptions({ tlsFiles }: RedisTarget): Record<string, Buffer> {
  return Object.fromEntries(
    Object.entries(tlsFiles).map(([name, file]) => {
      try {
        return [name, readFileSync(file)]
      } catch (thrown) {
        const message = `REDIS_URL: ${name} must be a readable file, got: ${file} (${messageOf(thrown)})`
        throw new KimchiError('KIMCHI_ERR_CONFIG', message)
      }
    }),
  )
}
