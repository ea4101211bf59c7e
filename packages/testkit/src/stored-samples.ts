import type { Sample } from '@kimchi/core'
import { decode } from '@msgpack/msgpack'
import type { RawRedis } from './redis.ts'

/**
 * Reads all stored samples of a coin and decodes them with another MessagePack library than the writer's, so that
 * a mistake of one can't hide itself. Calls `onUnreadable` with a line for each member that is no sample.
 */
export function readSamples(
  redis: RawRedis,
  symbol: string,
  onUnreadable: (finding: string) => void,
): Promise<Sample[]> {
  const toSample = (member: Buffer, minute: number) => sampleIn(member, symbol, minute)
  return readMembers(redis, `{kp}:samples:${symbol}:*`, toSample, onUnreadable)
}

/** All settled minutes of a coin, read raw; calls `onUnreadable` with a line for each member that is none. */
export function readSettled(
  redis: RawRedis,
  symbol: string,
  onUnreadable: (finding: string) => void,
): Promise<{ minute: number; reason: string }[]> {
  return readMembers(redis, `{kp}:settled:${symbol}:*`, toGap, onUnreadable)
}

async function readMembers<T>(
  redis: RawRedis,
  pattern: string,
  parse: (member: Buffer, minute: number) => T | undefined,
  onUnreadable: (finding: string) => void,
): Promise<T[]> {
  const entries: T[] = []
  for (const key of (await redis.keys(pattern)).sort()) {
    const hour = Date.parse(key.slice(-10).replace(/(....)(..)(..)(..)/, '$1-$2-$3T$4:00Z')) / 60_000
    // Pairs or a flat list, as the protocol version has it.
    const reply = (await redis.callBuffer('ZRANGE', [key, 0, -1, 'WITHSCORES'])) as unknown[]
    const flat = reply.flat() as Buffer[]
    for (let index = 0; index < flat.length; index += 2) {
      const minute = Number(flat[index + 1])
      const entry = parse(flat[index] as Buffer, minute)
      if (entry && minute >= hour && minute < hour + 60) entries.push(entry)
      else onUnreadable(`${key} has an unreadable member at ${minute}`)
    }
  }
  return entries
}

function toGap(member: Buffer, minute: number) {
  const [, at, reason] = /^(\d+) ([a-z-]+)$/.exec(member.toString()) ?? []
  return Number(at) === minute && reason !== undefined ? { minute, reason } : undefined
}

function sampleIn(member: Buffer, symbol: string, minute: number): Sample | undefined {
  const fields = decode(member)
  if (!Array.isArray(fields) || fields.length !== 6 || !fields.every(field => typeof field === 'number'))
    return undefined
  const [minuteOfHour, upbitKrw = 0, binanceUsdt = 0, usdtKrw = 0, premiumE4 = 0, source] = fields
  if (minuteOfHour !== minute % 60) return undefined
  return {
    symbol,
    minute,
    upbitKrw,
    binanceUsdt,
    usdtKrw,
    premiumE4,
    source: source === 1 ? 'candle' : 'live',
  }
}
