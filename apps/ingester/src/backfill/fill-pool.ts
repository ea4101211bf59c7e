import type { Context, EpochMinute } from '@kimchi/core'
import { KimchiError } from '@kimchi/core'
import type { CoinWork } from './coin-work.ts'
import type { CoinFiller, Filled } from './fill-coin.ts'

/** Coins in work at once: enough to keep both exchanges busy while one coin is decided and written. */
const COINS_AT_ONCE = 8

/** Fills several coins at once; a coin that fails holds up nobody. */
export interface FillPool {
  readonly size: number
  /** How many minutes are under way. */
  readonly minutes: number
  isBusy(work: CoinWork): boolean
  /** Starts what `next` gives, for as long as there is room. */
  start(next: () => { work: CoinWork; minutes: readonly EpochMinute[] } | undefined): void
  /** Resolves when one of those under way is done. @throws what Redis had against its samples */
  progress(): Promise<void>
  /** Resolves when nothing is under way. */
  idle(): Promise<void>
}

/** Takes note of what has been filled. */
export type OnFilled = (work: CoinWork, minutes: number, filled: Filled) => void

/** An empty {@link FillPool}. */
export function createFillPool(filler: CoinFiller, context: Context, onFilled: OnFilled): FillPool {
  const { clock, signal, log } = context
  const underWay = new Map<CoinWork, Promise<void>>()
  let minutesUnderWay = 0
  let storeTrouble: unknown

  const failed = (work: CoinWork, minutes: readonly EpochMinute[], thrown: unknown) => {
    work.putBack(minutes)
    if (signal.aborted) return
    work.fail(thrown, clock.now())
    const { reason, retryAt } = work.trouble ?? { reason: '', retryAt: 0 }
    log.warn({ symbol: work.coin.symbol, reason, retryMs: retryAt - clock.now() }, 'a coin is not filled')
  }
  /** Undefined where nothing was filled. */
  const fill = async (work: CoinWork, minutes: readonly EpochMinute[]): Promise<Filled | undefined> => {
    let decided: Awaited<ReturnType<CoinFiller['decide']>>
    try {
      decided = await filler.decide(work, minutes)
    } catch (thrown) {
      failed(work, minutes, thrown)
      return undefined
    }
    try {
      const filled =
        decided === undefined ? { samples: 0, gaps: 0, refused: 0 } : await filler.store(work, decided)
      work.succeed()
      return filled
    } catch (thrown) {
      if (thrown instanceof KimchiError && thrown.code === 'KIMCHI_ERR_CODEC') failed(work, minutes, thrown)
      else {
        work.putBack(minutes)
        storeTrouble = thrown
      }
      return undefined
    }
  }
  const run = async (work: CoinWork, minutes: readonly EpochMinute[]): Promise<void> => {
    minutesUnderWay += minutes.length
    const filled = await fill(work, minutes)
    minutesUnderWay -= minutes.length
    underWay.delete(work)
    // Only now are they no longer missing.
    if (filled !== undefined) onFilled(work, minutes.length, filled)
  }
  return {
    get size() {
      return underWay.size
    },
    get minutes() {
      return minutesUnderWay
    },
    isBusy: work => underWay.has(work),
    start: next => {
      while (underWay.size < COINS_AT_ONCE) {
        const found = next()
        if (found === undefined) return
        const { work, minutes } = found
        work.take(minutes)
        underWay.set(work, run(work, minutes))
      }
    },
    progress: async () => {
      await Promise.race(underWay.values())
      const thrown = storeTrouble
      storeTrouble = undefined
      if (thrown !== undefined) throw thrown
    },
    idle: async () => {
      await Promise.all(underWay.values())
    },
  }
}
