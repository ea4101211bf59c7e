import { isExpected, isRight, type Truth } from './audit-truth.ts'
import type { RawRedis } from './redis.ts'
import { readSamples, readSettled, type StoredGap, type StoredSample } from './stored-samples.ts'

/** What the audit looks at: minutes since the epoch, `to` not included. */
export interface AuditOptions {
  readonly redis: RawRedis
  readonly truth: Truth
  readonly coins: readonly string[]
  readonly from: number
  readonly to: number
}

/** What was found; `lost`, `doubled` and `wrong` must be 0. */
export interface Verdict {
  /** Coin minutes in which both exchanges were up and no sample is stored. */
  lost: number
  /** Coin minutes that are stored, settled or counted more than once. */
  doubled: number
  /**
   * Samples that no exchange ever said, days that are not the fold of their samples, live rows that are not
   * the newest sample.
   */
  wrong: number
  live: number
  candle: number
  readonly findings: string[]
}

/**
 * Compares all that is stored with what the exchanges said. Shares no code with the writer: reads Redis raw,
 * decodes by itself, folds by itself. Samples outside of [from, to) must be right too; only what is missing
 * is not looked for there.
 */
export async function audit(options: AuditOptions): Promise<Verdict> {
  const verdict: Verdict = { lost: 0, doubled: 0, wrong: 0, live: 0, candle: 0, findings: [] }
  const live = await options.redis.hgetall('{kp}:live')
  for (const symbol of options.coins) {
    const onUnreadable = (finding: string) => find(verdict, 'wrong', finding)
    const samples = await readSamples(options.redis, symbol, onUnreadable)
    checkSamples(symbol, samples, options, verdict)
    checkSettled(symbol, samples, await readSettled(options.redis, symbol, onUnreadable), verdict)
    const days = await options.redis.hgetall(`{kp}:daily:${symbol}`)
    checkDays(symbol, samples, days, verdict)
    checkLiveRow(symbol, samples, live[symbol], verdict)
  }
  return verdict
}

function checkSamples(
  symbol: string,
  samples: readonly StoredSample[],
  options: AuditOptions,
  verdict: Verdict,
) {
  const minutes = new Set<number>()
  for (const sample of samples) {
    if (minutes.has(sample.minute)) find(verdict, 'doubled', `${symbol} ${at(sample.minute)} is stored twice`)
    minutes.add(sample.minute)
    verdict[sample.isCandle ? 'candle' : 'live'] += 1
    const problem = isRight(symbol, sample, options.truth)
    if (problem)
      find(verdict, 'wrong', `${symbol} ${at(sample.minute)} ${problem}: ${JSON.stringify(sample)}`)
  }
  for (let minute = options.from; minute < options.to; minute++) {
    if (minutes.has(minute) || options.truth.halted?.(symbol, minute * 60_000)) continue
    if (isExpected(symbol, minute, options.truth)) {
      find(verdict, 'lost', `${symbol} ${at(minute)} is missing`)
    }
  }
}

/** A minute is stored, settled once, or open. */
function checkSettled(
  symbol: string,
  samples: readonly StoredSample[],
  settled: readonly StoredGap[],
  verdict: Verdict,
) {
  const decided = new Set(samples.map(({ minute }) => minute))
  for (const { minute, reason } of settled) {
    if (decided.has(minute))
      find(verdict, 'doubled', `${symbol} ${at(minute)} is decided, and settled: ${reason}`)
    decided.add(minute)
  }
}

/** Day rows against a fold that sorts first and then reads off. */
function checkDays(
  symbol: string,
  samples: readonly StoredSample[],
  rows: Record<string, string>,
  verdict: Verdict,
) {
  const days = new Map<string, StoredSample[]>()
  for (const sample of samples.toSorted((a, b) => a.minute - b.minute)) {
    const date = at(sample.minute).slice(0, 10)
    days.set(date, [...(days.get(date) ?? []), sample])
  }
  for (const date of new Set([...Object.keys(rows), ...days.keys()])) {
    const row = JSON.parse(rows[date] ?? '{}')
    const expected = foldDay(days.get(date) ?? [])
    if (row.samples > expected.samples) {
      find(verdict, 'doubled', `${symbol} ${date} counts ${row.samples}, stored are ${expected.samples}`)
    } else if (Object.entries(expected).some(([field, value]) => row[field] !== value)) {
      find(
        verdict,
        'wrong',
        `${symbol} ${date} is ${rows[date]}, its samples fold to ${JSON.stringify(expected)}`,
      )
    }
  }
}

function foldDay(samples: readonly StoredSample[]) {
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

/** A coin that has left the live list has no row. */
function checkLiveRow(
  symbol: string,
  samples: readonly StoredSample[],
  text: string | undefined,
  verdict: Verdict,
) {
  if (text === undefined) return
  const row = JSON.parse(text)
  const newest = samples.reduce<StoredSample | undefined>(
    (a, b) => (a && a.minute > b.minute ? a : b),
    undefined,
  )
  const isNewest =
    newest &&
    row.snapshot_at === at(newest.minute) &&
    row.upbit_krw === newest.upbitKrw &&
    row.binance_usdt === newest.binanceUsdt &&
    row.usdt_krw === newest.usdtKrw &&
    Math.round(row.premium_pct * 10_000) === newest.premiumE4
  if (!isNewest)
    find(verdict, 'wrong', `${symbol}'s live row is ${text}, newest stored ${JSON.stringify(newest)}`)
}

function find(verdict: Verdict, kind: 'lost' | 'doubled' | 'wrong', finding: string) {
  verdict[kind] += 1
  if (verdict.findings.length < 20) verdict.findings.push(`${kind}: ${finding}`)
}

function at(minute: number): string {
  return new Date(minute * 60_000).toISOString().slice(0, 19)
}
