import { type EpochMinute, isPrice, KimchiError, type Sample, type SampleSource } from '@kimchi/core'
import { pack, Unpackr } from 'msgpackr'

/** What begins an array of six. */
const ARRAY_OF_SIX = 0x96

/** As Lua does, it reads an integer of eight bytes as a number. */
const unpackr = new Unpackr({ int64AsType: 'number' })

/** A member stores the position in this list: only ever append to it. */
const SOURCES: readonly SampleSource[] = ['live', 'candle']

/**
 * A sample as a sorted-set member: the MessagePack array (minute of the hour, upbitKrw, binanceUsdt, usdtKrw,
 * premiumE4, source), at most 64 bytes, with which an hour keeps Redis' compact encoding
 * (`zset-max-listpack-value`). The symbol and the hour are in the key, and the score is the whole minute, so one
 * byte is enough to keep members apart; four bytes more would put a full hour into the next larger allocation.
 *
 * @throws KimchiError `KIMCHI_ERR_CODEC` naming the first field that cannot be stored
 */
export function encodeSample(sample: Sample): Buffer {
  const problem = problemOf(sample)
  if (problem !== undefined) throw new KimchiError('KIMCHI_ERR_CODEC', problem)
  const { minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4, source } = sample
  return pack([minute % 60, upbitKrw, binanceUsdt, usdtKrw, premiumE4, SOURCES.indexOf(source)])
}

/**
 * The sample of a member that is stored under the score `minute`, or undefined when it is none: then no day counts
 * it either, for kimchi.lua reads by the same rule.
 */
export function decodeSample(symbol: string, minute: EpochMinute, member: Uint8Array): Sample | undefined {
  const fields = unpacked(member)
  if (!Number.isInteger(minute) || fields[0] !== minute % 60) return undefined
  const [, upbitKrw, binanceUsdt, usdtKrw, premiumE4, sourceIndex] = fields
  const source = typeof sourceIndex === 'number' ? SOURCES[sourceIndex] : undefined
  const sample = { symbol, minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4, source }
  return source !== undefined && problemOf(sample) === undefined ? (sample as Sample) : undefined
}

/** The fields of a MessagePack array of six; none when the bytes are not one. */
function unpacked(member: Uint8Array): readonly unknown[] {
  if (member[0] !== ARRAY_OF_SIX) return []
  try {
    return unpackr.unpack(member)
  } catch {
    return []
  }
}

/** Symbol and minute are no part of the member: the library checks them. */
function problemOf(sample: Readonly<Record<keyof Sample, unknown>>): string | undefined {
  for (const field of ['upbitKrw', 'binanceUsdt', 'usdtKrw'] as const) {
    if (!isPrice(sample[field])) return `${field} must be a price, got: ${sample[field]}`
  }
  const { premiumE4 } = sample
  return Number.isSafeInteger(premiumE4) ? undefined : `premiumE4 must be an integer, got: ${premiumE4}`
}
