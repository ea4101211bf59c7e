import { type EpochMs, formatTimestamp, MINUTE_MS, type Sample } from '@kimchi/core'
import { type RawRedis, readSamples } from '@kimchi/testkit'
import { COINS } from '../service.ts'
import type { Host } from '../world.ts'
import { PARTIAL } from './host.ts'
import type { Kinds } from './kind.ts'

/** The samples from an instant on, as `2026-11-30T02:31:00 BTC`, and where they come from. */
async function sourcesFrom(redis: RawRedis, from: EpochMs): Promise<ReadonlyMap<string, Sample['source']>> {
  const first = Math.ceil(from / MINUTE_MS)
  const samples = await Promise.all(COINS.map(symbol => readSamples(redis, symbol, () => {}, first)))
  const kept = samples.flat().filter(({ minute }) => minute >= first)
  return new Map(kept.map(({ symbol, minute, source }) => [`${formatTimestamp(minute)} ${symbol}`, source]))
}

/** What Redis does to everybody. */
export const REDIS_KINDS: Kinds = {
  'Redis away': {
    minutes: [0.02, 30],
    begin: ({ redis, world }) => {
      redis.state.isUp = false
      redis.cut()
      return () => Object.assign(redis.state, { isUp: true, upSince: world.now })
    },
  },
  'Redis cut': {
    minutes: [1, 2],
    begin: ({ redis, replica }, pick) =>
      void redis.cut(pick.of(undefined, pick.ingester().host, replica.host)),
  },
  'lost writes': {
    minutes: [3, 4],
    begin: async ({ redis, world, ingesters, find }, pick) => {
      await redis.admin('SAVE')
      const isCut = pick.of(true, false)
      const lose = async () => {
        const lostAt = world.now
        const hosts = ingesters.map(({ host }) => host)
        const from = Math.max(lostAt - 5 * MINUTE_MS, ...hosts.map(host => host.startedAt + MINUTE_MS))
        const confirmed = await sourcesFrom(redis.raw, from)
        await redis.reload(isCut, Math.min(...hosts.map(({ pausedUntil }) => pausedUntil)))
        const check = async () => {
          // What an ingester that has ended had written, candles have to bring back.
          const isCalm = (host: Host, i: number) => ingesters[i]?.host === host && host.troubledUntil < lostAt
          if (redis.state.upSince > lostAt || !redis.isWell() || !hosts.every(isCalm)) return
          const kept = await sourcesFrom(redis.raw, from)
          // Who isn't cut off sees another primary when it writes its next minute: candles may come sooner.
          const isNext = ([each, source]: [string, Sample['source']]) =>
            source === 'live' && each > formatTimestamp(lostAt / MINUTE_MS)
          if (!isCut && (hosts.length > 1 || ![...kept].some(isNext))) return
          for (const [each, source] of confirmed)
            if (source === 'live' && (isCut ? kept.get(each) !== 'live' : !kept.has(each)))
              find(each.slice(0, 19), `not sent again: ${each}`)
        }
        world.after(2 * MINUTE_MS, check)
      }
      world.after(pick.between(100, 20_000), lose)
    },
  },
  // By hand, or evicted. Row and list are right again within ten minutes (docs/faults.md, 114). The hour comes back at
  // the end, as from a copy, and fits its row: nothing of it has counted a second time (43).
  'lost key': {
    minutes: [10, 11],
    sparesLive: true,
    begin: async ({ redis, world, ingesters, audit }, pick, forMs) => {
      const { raw, state } = redis
      const [lostAt, symbol] = [world.now, pick.coin(...COINS.filter(coin => coin !== PARTIAL))]
      const hoursAgo = pick.of(0, 0, 1, pick.between(2, 30))
      const hour = formatTimestamp(lostAt / MINUTE_MS - 60 * hoursAgo).slice(0, 13)
      const samples = `{kp}:samples:${symbol}:${hour.replaceAll(/\D/g, '')}`
      const copy = `lost ${samples}`
      const lost = pick.of('hour', 'hour', 'row', 'list')
      if (lost === 'hour' && (await raw.exists(samples))) await raw.rename(samples, copy)
      if (lost === 'row') await raw.hdel(`{kp}:daily:${symbol}`, hour.slice(0, 10))
      if (lost === 'list') {
        pick.losingLive()
        await raw.hdel('{kp}:live', symbol)
      }
      const check = async () => {
        // Unless Redis has become an older one meanwhile, which has the hour.
        const expiry = await raw.pexpiretime(copy)
        if (expiry > 0) {
          await raw.zunionstore(samples, 2, samples, copy, 'AGGREGATE', 'MAX')
          await raw.pexpireat(samples, expiry)
          await raw.del(copy)
        }
        const isCalm = redis.isWell() && Math.max(state.upSince, state.lostAt) < lostAt
        const isMender = ({ host, isRunning }: (typeof ingesters)[number]) =>
          isRunning() && Math.max(host.startedAt, host.troubledUntil) < lostAt
        if (isCalm && ingesters.some(isMender)) await audit(symbol)
      }
      world.after(forMs, check)
      world.after(forMs + MINUTE_MS, check)
    },
  },
  // By the first word of its error: what it does not take until somebody mends it, or until it has loaded its data.
  'Redis refuses': {
    minutes: [0.02, 20],
    begin: ({ redis, world }, pick) => {
      redis.state.refusal = pick.of(
        "OOM command not allowed when used memory > 'maxmemory'.",
        'MISCONF Redis is configured to save RDB snapshots, but cannot persist to disk.',
        "READONLY You can't write against a read only replica.",
        'LOADING Redis is loading the dataset in memory',
      )
      return () => Object.assign(redis.state, { refusal: undefined, upSince: world.now })
    },
  },
  'lost replies': {
    minutes: [1, 2],
    begin: ({ redis }, pick) => void Object.assign(redis.state, { lostReplies: pick.between(1, 4) }),
  },
  'no library': {
    minutes: [1, 2],
    begin: ({ redis }) => redis.admin('FUNCTION', 'FLUSH'),
  },
}
