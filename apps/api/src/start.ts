import type { AddressInfo } from 'node:net'
import { type Clock, type EpochMs, MINUTE_MS, type Milliseconds, minuteStart } from '@kimchi/core'
import { type Logger, openOpsServer, type RunningApp } from '@kimchi/runtime'
import { connectRedis, openReader, type RedisConnection } from '@kimchi/store'
import { buildApp } from './app.ts'
import type { ApiConfig } from './config.ts'
import { Documents, type DocumentsState } from './documents.ts'
import { createRegistry } from './metrics.ts'
import { newTraffic } from './traffic.ts'

/** A running API. */
export interface RunningApi extends RunningApp {
  /** The public port it really listens on. */
  readonly port: number
  readonly opsPort: number
}

/** Older than this, the newest snapshot is a reason not to be ready. */
const STALE_MS: Milliseconds = 3 * MINUTE_MS

/** Time that Redis gets to answer before the API listens without it. */
const BOOT_PATIENCE_MS: Milliseconds = 300

/**
 * Starts the API: it listens at once, also without Redis and without a single sample, and says on `/ready` what it lacks.
 * @throws the listen error (`EADDRINUSE`, …) when a port cannot be had
 */
export async function startApi(
  config: ApiConfig,
  { log, clock }: { readonly log: Logger; readonly clock: Clock },
): Promise<RunningApi> {
  const redis = connectRedis(config.REDIS_URL, { name: 'kimchi-api' })
  const reader = openReader({ redis })
  const documents = new Documents({ reader, clock, log })
  const subscription = reader.subscribeMinutes(
    minute => documents.heard(minute),
    ({ ready }) => {
      if (ready) void documents.reconnected()
    },
  )
  const stopListening = redis.onState(({ ready, reason }) => {
    if (ready) void documents.reconnected()
    else log.warn({ reason }, 'Redis is away, the last good documents are served')
  })
  const traffic = newTraffic()
  const app = buildApp({ documents, log, clock, traffic })
  const registry = createRegistry({
    state: () => documents.state(),
    traffic,
    redisUp: () => redis.state().ready,
    connections: () => new Promise(resolve => app.server.getConnections((_, count) => resolve(count ?? 0))),
    clock,
  })
  // With Redis there, the very first request finds a document; without it nobody waits for long.
  if (await redis.untilReady(BOOT_PATIENCE_MS)) await documents.firstBoard()
  await app.listen({ host: config.HOST, port: config.PORT })
  const { port } = app.server.address() as AddressInfo
  const ops = await openOpsServer({
    host: config.OPS_HOST,
    port: config.OPS_PORT,
    reasons: () => reasonsAgainst(documents.state(), redis, clock.now()),
    registry,
  })
  log.info({ host: config.HOST, port, opsPort: ops.port, redis: redis.target }, 'API listens')
  let closing: Promise<void> | undefined
  const close = async () => {
    await app.close()
    await ops.close()
    stopListening()
    subscription.close()
    documents.close()
    await redis.close()
  }
  return {
    port,
    opsPort: ops.port,
    close: () => {
      closing ??= close()
      return closing
    },
    failed: new Promise(() => {}),
  }
}

function reasonsAgainst(
  { newestMinute, problem }: DocumentsState,
  redis: RedisConnection,
  now: EpochMs,
): readonly string[] {
  const { ready, reason } = redis.state()
  const reasons: string[] = []
  if (newestMinute === undefined) reasons.push('no snapshot has been published yet')
  else if (now - minuteStart(newestMinute) > STALE_MS) {
    reasons.push(`the newest snapshot is ${Math.floor((now - minuteStart(newestMinute)) / 1_000)} s old`)
  }
  if (!ready) reasons.push(`Redis is away: ${reason ?? 'connecting'}`)
  else if (problem !== undefined) reasons.push(problem)
  return reasons
}
