import type { Sample } from '@kimchi/core'
import { decode } from '@msgpack/msgpack'
import type { RawRedis } from './redis.ts'

/**
 * Reads all stored samples of a coin and decodes them with another MessagePack library than the writer's, so that
 * a mistake of one can't hide itself. Calls `onUnreadable` with a line for each member that is no sample.
 * @param from the minute whose hour is the first to be read. @default the oldest
 */
export function readSamples(
  redis: RawRedis,
  symbol: string,
  onUnreadable: (finding: string) => void,
  from = 0,
): Promise<Sample[]> {
  const toSample = (member: Buffer, minute: number) => sampleIn(member, symbol, minute)
  return readMembers(redis, `{kp}:samples:${symbol}:*`, from, toSample, onUnreadable)
}

/** All settled minutes of a coin, read raw; calls `onUnreadable` with a line for each member that is none. */
export function readSettled(
  redis: RawRedis,
  symbol: string,
  onUnreadable: (finding: string) => void,
): Promise<{ minute: number; reason: string }[]> {
  return readMembers(redis, `{kp}:settled:${symbol}:*`, 0, toGap, onUnreadable)
}

async function readMembers<T>(
  redis: RawRedis,
  pattern: string,
  from: number,
  parse: (member: Buffer, minute: number) => T | undefined,
  onUnreadable: (finding: string) => void,
): Promise<T[]> {
  const entries: T[] = []
  const keys = (await redis.keys(pattern)).sort().filter(key => hourOf(key) + 60 > from)
  const replies = keys.map(key => redis.callBuffer('ZRANGE', [key, 0, -1, 'WITHSCORES']))
  const expiries = await Promise.all(keys.map(key => redis.expiretime(key)))
  for (const [index, reply] of (await Promise.all(replies)).entries()) {
    const key = keys[index] as string
    const hour = hourOf(key)
    // Hours of a day go together, at the end of another one.
    const expiry = expiries[index] ?? 0
    if (expiry % 86_400 !== 0 || expiry <= hour * 60) onUnreadable(`${key} expires at ${expiry}`)
    // Pairs or a flat list, as the protocol version has it.
    const flat = (reply as unknown[]).flat() as Buffer[]
    for (let index = 0; index < flat.length; index += 2) {
      const minute = Number(flat[index + 1])
      const entry = parse(flat[index] as Buffer, minute)
      if (entry && minute >= hour && minute < hour + 60) entries.push(entry)
      else onUnreadable(`${key} has an unreadable member at ${minute}`)
    }
  }
  return entries
}

/** The first minute of a key's hour. */
function hourOf(key: string): number {
  return Date.parse(key.slice(-10).replace(/(....)(..)(..)(..)/, '$1-$2-$3T$4:00Z')) / 60_000
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
