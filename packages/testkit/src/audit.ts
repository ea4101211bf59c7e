import type { Sample } from '@kimchi/core'
import type { RawRedis } from './redis.ts'
import { readSamples, readSettled } from './stored-samples.ts'
import { candleSamples, isExpected, isReason, sampleProblem, type Truth } from './truth.ts'

/** What is audited: minutes since the epoch, `to` not included. */
export interface AuditOptions {
  readonly redis: RawRedis
  readonly truth: Truth
  readonly coins: readonly string[]
  readonly from: number
  readonly to: number
}

/** What was found; `lost`, `doubled` and `wrong` must be 0. */
export interface AuditResult {
  /** Coin minutes in which both exchanges were up and no sample is stored. */
  lost: number
  /** Coin minutes that are stored, settled or counted more than once. */
  doubled: number
  /**
   * Samples that no exchange ever said, days that are not the fold of their samples (of candles, where no samples
   * are kept), live rows that are not the newest sample, reasons of settled minutes that are not true.
   */
  wrong: number
  live: number
  candle: number
  readonly findings: string[]
}

/**
 * Compares all that is stored with what the exchanges said. Shares no code with the writer: reads Redis raw,
 * decodes by itself, folds by itself. Samples outside of [from, to) must be right too; only missing
 * ones are not counted there.
 */
export async function audit({ redis, truth, coins, from, to }: AuditOptions): Promise<AuditResult> {
  const result: AuditResult = { lost: 0, doubled: 0, wrong: 0, live: 0, candle: 0, findings: [] }
  const live = await redis.hgetall('{kp}:live')
  for (const symbol of coins) {
    const find: Find = (kind, finding) => {
      result[kind] += 1
      if (result.findings.length < 20) result.findings.push(`${kind}: ${symbol} ${finding}`)
    }
    const onUnreadable = (finding: string) => find('wrong', finding)
    const samples = await readSamples(redis, symbol, onUnreadable)
    const minutes = new Set<number>()
    for (const sample of samples) {
      if (minutes.has(sample.minute)) find('doubled', `${at(sample.minute)} is stored twice`)
      minutes.add(sample.minute)
      result[sample.source] += 1
      const problem = sampleProblem(sample, truth)
      if (problem) find('wrong', `${at(sample.minute)} ${problem}: ${JSON.stringify(sample)}`)
    }
    for (let minute = from; minute < to; minute++) {
      if (minutes.has(minute) || truth.halted?.(symbol, minute * 60_000)) continue
      if (isExpected(symbol, minute, truth)) find('lost', `${at(minute)} is missing`)
    }
    // A minute is stored, settled once, or open.
    for (const { minute, reason } of await readSettled(redis, symbol, onUnreadable)) {
      if (minutes.has(minute)) find('doubled', `${at(minute)} is stored or settled, and settled: ${reason}`)
      minutes.add(minute)
      const isHalted = truth.halted?.(symbol, minute * 60_000) ?? reason === 'halted'
      if (!isHalted && !isReason(reason, symbol, minute, truth))
        find('wrong', `${at(minute)} is settled as ${reason}, which is not true`)
    }
    checkDays(symbol, samples, await redis.hgetall(`{kp}:daily:${symbol}`), truth, find)
    // A coin that has left the live list has no row.
    if (live[symbol] !== undefined) checkLiveRow(samples, live[symbol], find)
  }
  return result
}

type Find = (kind: 'lost' | 'doubled' | 'wrong', finding: string) => void

/** Compares day rows with a fold of its own, which sorts a day's samples and needs no running state. */
function checkDays(
  symbol: string,
  samples: readonly Sample[],
  rows: Record<string, string>,
  truth: Truth,
  find: Find,
): void {
  const days = new Map<number, Sample[]>()
  for (const sample of samples.toSorted((a, b) => a.minute - b.minute)) {
    const number = Math.floor(sample.minute / 1_440)
    const day = days.get(number)
    if (day) day.push(sample)
    else days.set(number, [sample])
  }
  const dates = [...days.keys()].map(number => at(number * 1_440).slice(0, 10))
  for (const date of new Set([...Object.keys(rows), ...dates])) {
    const row = JSON.parse(rows[date] ?? '{}')
    const number = Date.parse(date) / 86_400_000
    if (truth.expired?.(number)) continue
    const expected = foldDay(days.get(number) ?? candleSamples(symbol, number, truth))
    if (row.samples > expected.samples) {
      find('doubled', `${date} counts ${row.samples}, stored are ${expected.samples}`)
    } else if (Object.entries(expected).some(([field, value]) => row[field] !== value)) {
      find('wrong', `${date} is ${rows[date]}, its samples fold to ${JSON.stringify(expected)}`)
    }
  }
}

/** A day's row, of its samples in order. */
export function foldDay(samples: readonly Pick<Sample, 'minute' | 'premiumE4'>[]) {
  const premiums = samples.map(sample => sample.premiumE4)
  return {
    open: premiums[0],
    high: Math.max(...premiums),
    low: Math.min(...premiums),
    close: premiums.at(-1),
    sum: premiums.reduce((sum, premium) => sum + premium, 0),
    samples: premiums.length,
    first: samples[0]?.minute,
    last: samples.at(-1)?.minute,
  }
}

function checkLiveRow(samples: readonly Sample[], text: string, find: Find): void {
  const row = JSON.parse(text)
  const newest = samples.toSorted((a, b) => a.minute - b.minute).at(-1)
  const isNewest =
    newest &&
    row.snapshot_at === at(newest.minute) &&
    row.upbit_krw === newest.upbitKrw &&
    row.binance_usdt === newest.binanceUsdt &&
    row.usdt_krw === newest.usdtKrw &&
    Math.round(row.premium_pct * 10_000) === newest.premiumE4
  if (!isNewest) find('wrong', `has the live row ${text}, newest stored ${JSON.stringify(newest)}`)
}

function at(minute: number): string {
  return new Date(minute * 60_000).toISOString().slice(0, 19)
}
