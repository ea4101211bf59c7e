import { createHash } from 'node:crypto'
import { type EpochMs, formatTimestamp, MINUTE_MS } from '@kimchi/core'
import {
  type AuditOptions,
  audit,
  isExpected,
  type RawRedis,
  readSamples,
  readSettled,
  sampleProblem,
} from '@kimchi/testkit'
import type { DayRedis } from './redis.ts'
import { COINS, type DayReplica } from './service.ts'

type Document = NonNullable<ReturnType<DayReplica['documents']['live']>>
type Truth = AuditOptions['truth']

interface Row {
  readonly symbol: string
  readonly snapshot_at: string
  readonly premium_pct: number
  readonly upbit_krw: number
  readonly binance_usdt: number
  readonly usdt_krw: number
}

/** Rows of a coin's days, as stored, by date. */
type Rows = Readonly<Record<string, string>>

type ServedDay = { readonly date: string; readonly samples: number } & Readonly<
  Record<`${string}_pct`, number>
>

/** What a replica's lists were until now. */
interface Seen {
  tag: string
  updatedAt: string
  newest: string
  lookedAt: EpochMs
  /** The look before the one that first met the newest list. */
  unseenAt: EpochMs
  /** The first look after it that met an older list; undefined while none has. */
  olderAt?: EpochMs | undefined
}

/** Minutes. */
const JOINED_WITHIN = 5

/** So long an older list may be served where Redis has lost writes: docs/faults.md, 109. */
const OLDER_MS = 5_000

/** What the list must say of a coin in the minute just over; undefined where it may say anything. */
export type Demand = 'live' | 'listed' | 'unlisted' | undefined

/** What a day has shown to be wrong. */
export interface Finding {
  /** As in the API; empty where it is about the whole day. */
  readonly minute: string
  readonly what: string
}

/** Judges all that is served while a day runs, and all that is stored at its end, by what the exchanges made. */
export class Oracle {
  readonly findings: Finding[] = []
  /** Coin minutes at which the list was read, and those of which a live sample, or not to be listed, was demanded. */
  readonly counts = { lists: 0, values: 0, stored: 0, minutes: 0, live: 0, listed: 0, unlisted: 0 }
  readonly #truth: Truth
  readonly #digest = createHash('sha256')
  readonly #seen = new Map<DayReplica, Seen>()
  readonly #listed = new Set<string>()

  constructor(truth: Truth) {
    this.#truth = truth
  }

  find(minute: string, what: string): void {
    this.findings.push({ minute, what })
  }

  /**
   * What a caller of a replica gets of the live list at an instant.
   * @param lost when Redis last lost writes, and when its writer noticed
   */
  readList(replica: DayReplica, now: EpochMs, lost: Pick<DayRedis['state'], 'lostAt' | 'noticedAt'>): void {
    const document = replica.documents.live()
    if (document === undefined) return
    const seen = this.#seen.get(replica) ?? { tag: '', updatedAt: '', newest: '', lookedAt: 0, unseenAt: 0 }
    this.#seen.set(replica, seen)
    const before = seen.lookedAt
    seen.lookedAt = now
    if (document.tag !== seen.tag) {
      seen.tag = document.tag
      this.counts.lists += 1
      const text = this.#take(document, now)
      const { updated_at, data } = JSON.parse(text) as { updated_at: string; data: Row[] }
      seen.updatedAt = updated_at
      for (const row of data) {
        this.#judge(row)
        if (Date.parse(updated_at) - Date.parse(row.snapshot_at) >= 60 * MINUTE_MS)
          this.find(updated_at, `still listed: ${row.symbol} of ${row.snapshot_at}`)
      }
    }
    if (seen.updatedAt < seen.newest) {
      seen.olderAt ??= now
      if (lost.lostAt >= seen.unseenAt && now <= Math.max(seen.olderAt, lost.noticedAt) + OLDER_MS) return
      this.find(seen.updatedAt, `${replica.host.name}: older list after ${seen.newest}`)
    }
    if (seen.updatedAt !== seen.newest) seen.unseenAt = before
    seen.newest = seen.updatedAt
    seen.olderAt = undefined
  }

  /**
   * The list in Redis of a second ago.
   * @param calm replicas that nothing has kept from it
   */
  readStoredList(texts: readonly string[], calm: readonly DayReplica[]): void {
    for (const { symbol, snapshot_at } of texts.map(text => JSON.parse(text) as Row)) {
      if (!COINS.includes(symbol)) this.find(snapshot_at, `stored: ${symbol}, which is no pair`)
      for (const { documents, host } of calm)
        if (formatTimestamp(documents.status().newestMinute ?? 0) < snapshot_at)
          this.find(snapshot_at, `${host.name}: ${symbol} was stored a second ago and is not served`)
    }
  }

  /** Whether a coin was ever served. */
  hasListed(symbol: string): boolean {
    return this.#listed.has(symbol)
  }

  /**
   * The list when no candle of the minute has been read yet.
   * @param demandOf what is demanded of a coin: a live sample of the minute, a row, or none
   */
  readLive(document: Document | undefined, minute: number, demandOf: (symbol: string) => Demand): void {
    const rows = document === undefined ? [] : (JSON.parse(textOf(document)) as { data: Row[] }).data
    const at = formatTimestamp(minute)
    for (const symbol of COINS) {
      const demand = demandOf(symbol)
      this.counts.minutes += 1
      if (demand) this.counts[demand] += 1
      const shown = rows.find(row => row.symbol === symbol)?.snapshot_at
      if (demand === 'unlisted' && shown) this.find(at, `still listed: ${symbol} of ${shown}`)
      // A coin that is heard of for the first time in hours joins with a live sample, or minutes later by a candle.
      const minutes = demand === 'listed' ? [minute - JOINED_WITHIN, minute] : [minute]
      const isKnown = minutes.every(each => isExpected(symbol, each, this.#truth))
      if (demand === 'unlisted' || demand === undefined || !isKnown) continue
      if (demand === 'live' ? shown !== at : !shown) this.find(at, `not ${demand}: ${symbol} is of ${shown}`)
    }
  }

  /**
   * What a caller gets of a coin's days at an instant. Days that count as much as those stored are their fold, and
   * what has not changed for two minutes is served.
   * @param before the rows of two minutes ago; undefined where the replica may not have read them since
   */
  readDays(document: Document, now: number, stored: Rows, before: Rows | undefined): void {
    const { symbol, data } = JSON.parse(this.#take(document, now)) as { symbol: string; data: ServedDay[] }
    const served = new Map(data.map(({ date, ...day }) => [date, day]))
    for (const date of Object.keys(stored).sort().slice(-data.length)) {
      const row = JSON.parse(stored[date] ?? '{}') as Record<string, number>
      const { samples = 0, ...day } = served.get(date) ?? {}
      if (row.samples !== samples) {
        if (before?.[date] === stored[date])
          this.find(`${date}T00:00:00`, `served ${symbol} with ${samples} samples, stored ${stored[date]}`)
        continue
      }
      const fold = { ...row, avg: (row.sum ?? 0) / samples }
      for (const [name, pct] of Object.entries(day)) {
        const expected = fold[name.replace('_pct', '') as keyof typeof fold] ?? Number.NaN
        if (!(Math.abs(pct * 10_000 - expected) <= 0.5 + 1e-6))
          this.find(`${date}T00:00:00`, `served ${symbol} ${name} ${pct}, stored ${stored[date]}`)
      }
    }
  }

  /** Coin minutes in [from, to) that can be known and are not stored, as `2026-11-30T02:31:00 BTC, halted`. */
  async missing(redis: RawRedis, coins: readonly string[], from: number, to: number): Promise<string[]> {
    const missing: string[] = []
    for (const symbol of coins) {
      const stored = new Set((await readSamples(redis, symbol, () => {}, from)).map(({ minute }) => minute))
      const settled = await readSettled(redis, symbol, () => {})
      const why = (at: number) => settled.find(({ minute }) => minute === at)?.reason ?? 'open'
      for (let minute = from; minute < to; minute++) {
        if (stored.has(minute) || this.#truth.halted?.(symbol, minute * MINUTE_MS)) continue
        if (isExpected(symbol, minute, this.#truth))
          missing.push(`${formatTimestamp(minute)} ${symbol}, ${why(minute)}`)
      }
    }
    return missing
  }

  /** Judges the whole of Redis. */
  async readStored(options: Omit<AuditOptions, 'truth'>): Promise<void> {
    const { findings, ...counts } = await audit({ ...options, truth: this.#truth })
    const { lost, doubled, wrong, live, candle } = counts
    this.counts.stored = live + candle
    for (const finding of findings) this.find(/\d{4}-\S+/.exec(finding)?.[0] ?? '', finding)
    this.#digest.update(JSON.stringify({ lost, doubled, wrong, live, candle }))
  }

  digest(stored: string): string {
    return this.#digest.update(stored).digest('hex').slice(0, 16)
  }

  #take(document: Document, now: number): string {
    const text = textOf(document)
    this.#digest.update(`${now} ${text}`)
    return text
  }

  #judge(row: Row): void {
    this.#listed.add(row.symbol)
    this.counts.values += 1
    const sample = {
      symbol: row.symbol,
      minute: Date.parse(`${row.snapshot_at}Z`) / MINUTE_MS,
      upbitKrw: row.upbit_krw,
      binanceUsdt: row.binance_usdt,
      usdtKrw: row.usdt_krw,
      premiumE4: Math.round(row.premium_pct * 10_000),
    }
    const asLive = sampleProblem({ ...sample, source: 'live' }, this.#truth)
    if (asLive === undefined || sampleProblem({ ...sample, source: 'candle' }, this.#truth) === undefined)
      return
    this.find(row.snapshot_at, `served ${JSON.stringify(row)}: ${asLive}`)
  }
}

function textOf({ body }: Document): string {
  return Buffer.concat(body.map(part => Buffer.from(part))).toString()
}
