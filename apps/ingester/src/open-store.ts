import { type Milliseconds, messageOf } from '@kimchi/core'
import {
  type Board,
  createReader,
  createWriter,
  isRetryable,
  openMinuteQueue,
  openRedis,
} from '@kimchi/store'
import type { Context } from './context.ts'
import { newState, statusFields } from './status.ts'

/** How long a start waits for Redis before it goes on without; what it would read is only a head start. */
const REDIS_PATIENCE_MS: Milliseconds = 1_000

/** How long an end may spend on minutes that are not written yet. */
const FLUSH_WITHIN_MS: Milliseconds = 2_000

/** A status that nobody renews for this long belongs to an ingester that is gone. */
const STATUS_TTL_SECONDS = 180

/** The way to Redis. */
export type Store = ReturnType<typeof openStore>

/** Opens the way to Redis; what this ingester says about itself goes there too. */
export function openStore({ config, log, clock, random, id, version, fail }: Context) {
  const redis = openRedis(config.REDIS_URL, { name: 'kimchi-ingester', random })
  const { PRICES: prices, SAMPLE_RETENTION_DAYS: retentionDays } = config
  const writer = createWriter({ redis, prices, retentionDays, log })
  const publishStatus = () => {
    writer
      .publishStatus(id, statusFields(state, clock.now(), version), STATUS_TTL_SECONDS)
      .catch(thrown => log.debug({ err: thrown }, 'status not published'))
  }
  const queue = openMinuteQueue({
    writer,
    clock,
    random,
    onWritten: publishStatus,
    onFatal: fail,
    log,
  })
  const state = newState(clock.now(), queue)
  const close = async () => {
    if (!(await queue.flush(FLUSH_WITHIN_MS))) {
      log.error({ minutes: queue.depth }, 'ended with minutes that were not written')
    }
    queue.close()
    await redis.close()
  }
  const reader = createReader({ redis })
  const readBoard = async (): Promise<Board | undefined> => {
    try {
      return (await redis.untilReady(REDIS_PATIENCE_MS)) ? await reader.readBoard() : undefined
    } catch (thrown) {
      log.info({ reason: messageOf(thrown) }, 'nothing could be read from Redis, going on without')
      return undefined
    }
  }
  // An empty write: a Redis that holds the other kind of prices is refused now, not at the first minute.
  void redis
    .untilReady(REDIS_PATIENCE_MS)
    .then(() => writer.write({ minute: 0, samples: [] }))
    .catch(thrown => {
      if (!isRetryable(thrown)) fail(thrown)
    })
  return { redis, reader, readBoard, writer, queue, state, publishStatus, close }
}
