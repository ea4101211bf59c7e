import { type Coin, type Context, type EpochMs, type Milliseconds, messageOf, minuteOf } from '@kimchi/core'
import { retryDelay } from '@kimchi/feeds'
import type { SampleReader, SampleWriter } from '@kimchi/store'
import type { Quarantine } from '../coins/quarantine.ts'
import type { CoinTracking } from '../coins/track-coins.ts'
import { type BackfillLease, giveBack } from './backfill-lease.ts'
import { createCandleBook, type FetchPage } from './candle-book.ts'
import { type CandleRequestStatus, createCandleRequests } from './candle-requests.ts'
import type { CoinTrouble } from './coin-work.ts'
import { createCoinFiller } from './fill-coin.ts'
import { createFillPool } from './fill-pool.ts'
import { createHoleFinder, type KnownMinute } from './hole-finder.ts'
import { createProgressLog } from './progress-log.ts'
import { countMinutes } from './ranges.ts'
import { createReconciler, type Drift } from './reconcile.ts'

/**
 * Leases are prolonged, or asked for, this often: a coin stays with one ingester for as long as that one
 * lives.
 */
const CLAIM_EVERY_MS: Milliseconds = 10_000

/** How often, and how far back, candles that came late get another chance. */
const FORGET_EVERY_MS: Milliseconds = 60_000
const FORGOTTEN_MINUTES = 15

/** Time between two looks whether there is something to do. */
const IDLE_MS: Milliseconds = 1_000

/** What backfill works with. */
export interface BackfillOptions {
  /**
   * The coins to fill; those of a first start are compared with the others before anything of them is stored.
   */
  readonly quarantine: Pick<Quarantine, 'tracked' | 'untested' | 'check'>
  readonly tracking: Pick<CoinTracking, 'apply'>
  /** Whole UTC days before today that are kept without holes. */
  readonly days: number
  readonly reader: Pick<SampleReader, 'readOpenMinutes' | 'readSamples'>
  readonly writer: Pick<SampleWriter, 'verify' | 'write'>
  /** One request for candles. */
  readonly fetchPage: FetchPage
  /** Keeps several ingesters from fetching the same candles. */
  readonly lease: BackfillLease
}

/** What backfill says of itself. Counters run since the start. */
export interface BackfillStatus {
  /** Times that all that is kept was looked at for holes, and nothing was left to do. */
  readonly passes: number
  /** Holes that are known and wait for candles, one a coin and minute. */
  readonly missing: number
  readonly samples: number
  readonly gaps: number
  /** Samples that Redis did not take: their day has expired or is frozen. */
  readonly refused: number
  /** Coins whose candles could not be fetched; each waits alone. */
  readonly waiting: readonly CoinTrouble[]
  readonly candleRequests: readonly CandleRequestStatus[]
  readonly drift: Drift | undefined
  /** What holds up all of it. */
  readonly problem: string | undefined
}

/** Fills holes from candles, for as long as an ingester lives. */
export interface Backfill {
  /** Works until the signal aborts; whatever fails is tried again. */
  run(): Promise<void>
  /** Takes in what became of a minute, so that its holes are filled at once. */
  learn(known: KnownMinute): void
  status(): BackfillStatus
}

/**
 * A {@link Backfill} of the minutes missing since 00:00 UTC of today − `days`.
 * @see docs/architecture.md#ingester
 */
export function createBackfill(options: BackfillOptions, context: Context): Backfill {
  const { quarantine, reader, writer, lease } = options
  const { clock, random, signal, log } = context
  const candleRequests = createCandleRequests(options.fetchPage, context)
  const finder = createHoleFinder({ ...options, fetchPage: candleRequests.fetchPage, clock })
  const book = createCandleBook(candleRequests.fetchPage)
  const filler = createCoinFiller({ ...options, book, clock })
  const reconciler = createReconciler({ reader, fetchPage: candleRequests.fetchPage, clock })
  const counts = { passes: 0, samples: 0, gaps: 0, refused: 0 }
  const missing = () => {
    return [...finder.works.values()].reduce((sum, { holes }) => sum + countMinutes(holes), pool.minutes)
  }
  const logProgress = createProgressLog(() => missing(), log)
  const pool = createFillPool(filler, context, (work, minutes, filled) => {
    for (const key of ['samples', 'gaps', 'refused'] as const) counts[key] += filled[key]
    logProgress(work.coin.symbol, minutes, counts)
  })
  let claimedAt: EpochMs = Number.NEGATIVE_INFINITY
  let ours: ReadonlySet<string> = new Set()
  let forgotAt: EpochMs = clock.now()
  let looks = 0
  let isRedisOurs = false
  let problem: string | undefined

  const isOurs = ({ symbol }: Coin) => ours.has(symbol)
  const claim = async (coins: readonly Coin[]): Promise<void> => {
    if (clock.now() - claimedAt < CLAIM_EVERY_MS) return
    claimedAt = Number.NEGATIVE_INFINITY
    ours = await lease.claim(coins.map(({ symbol }) => symbol))
    claimedAt = clock.now()
  }
  /** An exchange's candles may come late: those of the last minutes are asked for again. */
  const forgetDoubtful = () => {
    if (clock.now() - forgotAt < FORGET_EVERY_MS) return
    forgotAt = clock.now()
    book.forgetFrom(minuteOf(forgotAt) - FORGOTTEN_MINUTES)
  }
  const step = async (): Promise<void> => {
    const { tracked, untested } = quarantine
    if (tracked.length + untested.length > 0) await claim([...tracked, ...untested])
    finder.follow(tracked.filter(isOurs), untested.filter(isOurs))
    if (finder.works.size === 0) return clock.wait(IDLE_MS, signal)
    // A Redis that refuses us is known before anything is fetched.
    if (!isRedisOurs) await writer.verify()
    isRedisOurs = true
    await finder.look(pool.isBusy)
    forgetDoubtful()
    pool.start(() => finder.next(pool.isBusy))
    await (pool.size > 0 ? pool.progress() : rest())
  }
  const rest = async (): Promise<void> => {
    if (finder.looks > looks) counts.passes += 1
    looks = finder.looks
    await reconciler.run(quarantine.tracked.filter(isOurs))
    await clock.wait(IDLE_MS, signal)
  }
  return {
    run: async () => {
      for (let failures = 0; !signal.aborted; ) {
        try {
          await step()
          failures = 0
          problem = undefined
        } catch (thrown) {
          if (signal.aborted) break
          problem = messageOf(thrown)
          isRedisOurs = false
          const delayMs = retryDelay(failures++, random, thrown)
          log.warn({ err: thrown, delayMs: Math.round(delayMs) }, 'backfill is held up, will go on')
          await clock.wait(delayMs, signal)
        }
      }
      await pool.idle()
      await giveBack(lease, context)
    },
    learn: known => finder.learn(known),
    status: () => ({
      ...counts,
      missing: missing(),
      waiting: [...finder.works.values()].flatMap(({ trouble }) => trouble ?? []),
      candleRequests: candleRequests.status(),
      drift: reconciler.drift,
      problem,
    }),
  }
}
