import { readMessagePack } from './msgpack.ts'
import type { RawRedis } from './redis.ts'

/** A stored sample as the audit reads it. */
export interface StoredSample {
  readonly minute: number
  readonly upbitKrw: number
  readonly binanceUsdt: number
  readonly usdtKrw: number
  readonly premiumE4: number
  readonly isCandle: boolean
}

/** All stored samples of a coin, read raw; `onUnreadable` takes a line for each member that is none. */
export async function readSamples(
  redis: RawRedis,
  symbol: string,
  onUnreadable: (finding: string) => void,
): Promise<StoredSample[]> {
  const samples: StoredSample[] = []
  for (const key of (await redis.keys(`{kp}:samples:${symbol}:*`)).sort()) {
    const hour = Date.parse(key.slice(-10).replace(/(....)(..)(..)(..)/, '$1-$2-$3T$4:00Z')) / 60_000
    // Pairs or a flat list, as the protocol version has it.
    const reply = (await redis.callBuffer('ZRANGE', [key, 0, -1, 'WITHSCORES'])) as unknown[]
    const flat = reply.flat() as Buffer[]
    for (let index = 0; index < flat.length; index += 2) {
      const minute = Number(flat[index + 1])
      const sample = toSample(flat[index] as Buffer, minute)
      if (sample && minute >= hour && minute < hour + 60) samples.push(sample)
      else onUnreadable(`${key} has an unreadable member at ${minute}`)
    }
  }
  return samples
}

function toSample(member: Buffer, minute: number): StoredSample | undefined {
  const fields = readMessagePack(member)
  if (!Array.isArray(fields) || fields.length !== 6 || !fields.every(field => typeof field === 'number'))
    return undefined
  const [minuteOfHour, upbitKrw, binanceUsdt, usdtKrw, premiumE4, source] = fields as number[] as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  if (minuteOfHour !== minute % 60) return undefined
  return { minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4, isCandle: source === 1 }
}
