import type { AddressInfo } from 'node:net'
import type { Clock, EpochMs, Log, Milliseconds } from '@kimchi/core'
import { MINUTE_MS, minuteStart } from '@kimchi/core'
import { drain, listenAt, openOpsServer, type Reason } from '@kimchi/runtime'
import { openRedis, type RedisConnection, SampleReader } from '@kimchi/store'
import type { Config } from './config.ts'
import { Documents, type DocumentsStatus } from './documents/documents.ts'
import { createApp } from './http/app.ts'
import { createMetrics } from './metrics.ts'

/** Older than this, the newest snapshot is a reason not to be ready. */
const STALE_MS: Milliseconds = 3 * MINUTE_MS

/**
 * The connection is replaced when a command gets no answer for this long; with a poll every 2 s a dead
 * connection costs less than 3 s.
 */
const REDIS_DEAD_AFTER_MS: Milliseconds = 600

/** Time that Redis gets to answer before the API listens without it. */
const REDIS_READY_WITHIN_MS: Milliseconds = 1_000

/**
 * Starts the API: it listens at once, even without Redis or a single sample, and `/ready` names what it
 * lacks.
 * @throws KimchiError `KIMCHI_ERR_CONFIG` when a port or an address cannot be bound
 */
export async function startApi(
  config: Config,
  { log, clock, version }: { readonly log: Log; readonly clock: Clock; readonly version: string },
) {
  const redis = openRedis(config.REDIS_URL, {
    name: 'kimchi-api',
    commandTimeoutMs: REDIS_DEAD_AFTER_MS,
    deadAfterMs: REDIS_DEAD_AFTER_MS,
  })
  const reader = new SampleReader({ redis })
  const documents = new Documents({ reader, clock, log })
  void documents.poll()
  followRedis(redis, reader, documents)
  const { app, durations } = createApp({ documents, log, clock })
  let isDraining = false
  const reasons = (): Reason[] => [
    ...(isDraining ? [{ reason: 'shutting-down', text: 'shutting down' }] : []),
    ...reasonsAgainst(documents.status(), clock.now()),
  ]
  const metrics = createMetrics({ version, clock, documents: () => documents.status(), durations })
  const isServing = () => !isDraining && documents.live() !== undefined
  const free = async () => {
    documents.close()
    await redis.close()
  }
  try {
    // If Redis answers and has a minute, the very first request finds a document; if not, the API listens all the same.
    await redis.untilReady(REDIS_READY_WITHIN_MS)
    await documents.load()
    const { HOST: host, PORT, OPS_HOST, OPS_PORT } = config
    await listenAt('PORT', { host, port: PORT }, address => app.listen(address))
    const ops = await openOpsServer({ host: OPS_HOST, port: OPS_PORT, reasons, isServing, metrics })
    const { port } = app.server.address() as AddressInfo
    log.info({ host, port, opsPort: ops.port, redis: redis.target }, 'API listens')
    return {
      /** The public port it really listens on. */
      port,
      opsPort: ops.port,
      close: async () => {
        isDraining = true
        await drain(app.server, clock)
        await app.close()
        await ops.close()
        await free()
      },
      // Nothing that happens later ends the API: it always has its last good documents.
      failed: new Promise<never>(() => {}),
    }
  } catch (error) {
    await app.close()
    await free()
    throw error
  }
}

/** Keeps the documents up to date: reads each minute when it is written, and everything after a reconnect. */
export function followRedis(redis: RedisConnection, reader: SampleReader, documents: Documents): void {
  const readAll = () => void documents.onReconnect()
  reader.followMinutes(minute => documents.onMinute(minute), readAll)
  // While Redis is away a read fails at once, and says why.
  redis.onChange(problem => problem && readAll())
}

function reasonsAgainst({ newestMinute, problem }: DocumentsStatus, now: EpochMs): Reason[] {
  const reasons: Reason[] = []
  const ageMs = now - minuteStart(newestMinute ?? 0)
  if (newestMinute === undefined) {
    reasons.push({ reason: 'no-list', text: 'no snapshot has been published yet' })
  } else if (ageMs > STALE_MS) {
    reasons.push({ reason: 'old-list', text: `the newest snapshot is ${Math.floor(ageMs / 1_000)} s old` })
  }
  return problem === undefined ? reasons : [...reasons, problem]
}
