import {
  type EpochMinute,
  isPrice,
  KimchiError,
  messageOf,
  type Sample,
  type SampleSource,
} from '@kimchi/core'
import { pack, unpack } from 'msgpackr'

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
  check(sample)
  const { minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4, source } = sample
  return pack([minute % 60, upbitKrw, binanceUsdt, usdtKrw, premiumE4, SOURCES.indexOf(source)])
}

/**
 * The sample of a member that is stored under the score `minute`. Strict: whatever is not exactly what
 * {@link encodeSample} writes is refused.
 *
 * @throws KimchiError `KIMCHI_ERR_CODEC` naming the field or the bytes
 */
export function decodeSample(symbol: string, minute: EpochMinute, member: Uint8Array): Sample {
  const fields = decode(member)
  if (!Array.isArray(fields) || fields.length !== 6) {
    throw codecError(`member must be an array of 6 fields, got: ${hex(member)}`)
  }
  const [minuteOfHour, upbitKrw, binanceUsdt, usdtKrw, premiumE4, sourceIndex]: unknown[] = fields
  if (minuteOfHour !== minute % 60) {
    throw codecError(`minute of the hour must be ${minute % 60}, got: ${minuteOfHour}`)
  }
  const source = typeof sourceIndex === 'number' ? SOURCES[sourceIndex] : undefined
  const sample = { symbol, minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4, source }
  check(sample)
  return sample as Sample
}

function decode(member: Uint8Array): unknown {
  try {
    return unpack(member)
  } catch (error) {
    throw codecError(`member must be MessagePack, got: ${hex(member)} (${messageOf(error)})`)
  }
}

function check(sample: Readonly<Record<keyof Sample, unknown>>): void {
  const { symbol, minute, premiumE4, source } = sample
  if (typeof symbol !== 'string' || !/^[\w.-]+$/.test(symbol)) {
    throw codecError(`symbol must be a word, got: ${symbol}`)
  }
  if (!Number.isSafeInteger(minute) || Number(minute) < 0) {
    throw codecError(`minute must be a whole epoch minute, got: ${minute}`)
  }
  for (const field of ['upbitKrw', 'binanceUsdt', 'usdtKrw'] as const) {
    if (!isPrice(sample[field])) throw codecError(`${field} must be a price, got: ${sample[field]}`)
  }
  if (!Number.isSafeInteger(premiumE4)) throw codecError(`premiumE4 must be an integer, got: ${premiumE4}`)
  if (!SOURCES.includes(source as SampleSource))
    throw codecError(`source must be live or candle, got: ${source}`)
}

function hex(member: Uint8Array): string {
  return Buffer.from(member.subarray(0, 64)).toString('hex')
}

function codecError(message: string): KimchiError {
  return new KimchiError('KIMCHI_ERR_CODEC', message)
}
