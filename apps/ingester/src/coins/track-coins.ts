import type { Coin, Sample } from '@kimchi/core'
import type { Logger } from '@kimchi/runtime'
import { isRetryable, type SampleWriter } from '@kimchi/store'
import type { IngesterState } from '../status.ts'
import type { Admission } from './quarantine.ts'
import type { KeptCatalogue } from './refresh-catalogue.ts'

/** What following the coins needs and whom it tells. */
export interface FollowCoinsOptions {
  readonly admission: Admission
  readonly state: IngesterState
  readonly writer: Pick<SampleWriter, 'track'>
  /** Called with the coins to subscribe, at first and whenever they change. */
  readonly onSubscribed: (coins: readonly Coin[]) => void
  /** Called when Redis will never take our coins. */
  readonly onFatal: (thrown: unknown) => void
  readonly log: Logger
}

/** Brings the catalogue through the admission to the feeds and to Redis. */
export interface CoinFollower {
  follow(now: KeptCatalogue): void
  /** Lets one minute's samples of admitted coins pass, after they have been compared with the market. */
  judge(minute: number, samples: readonly Sample[]): readonly Sample[]
}

/** Connects catalogue, admission, feeds and Redis. A coin enters Redis when it is admitted, and leaves it when it leaves the catalogue. */
export function followCoins(options: FollowCoinsOptions): CoinFollower {
  const { admission, state, writer, onSubscribed, onFatal, log } = options
  const track = (departed: readonly string[]) => {
    writer.track(admission.tracked, departed).catch(thrown => {
      // Redis is away: the writer brings the coins along with the next minute.
      if (!isRetryable(thrown)) onFatal(thrown)
    })
  }
  const show = () => {
    const before = new Set(state.held.map(({ symbol }) => symbol))
    state.coins = admission.tracked
    state.held = admission.held
    for (const held of state.held) if (!before.has(held.symbol)) log.warn(held, 'coin is held back')
    for (const { symbol } of state.coins) if (before.has(symbol)) log.info({ symbol }, 'coin is admitted')
  }
  return {
    follow: now => {
      const { subscribed, tracked } = admission
      const isFirst = state.coins === undefined
      admission.follow(now)
      state.missing = now.missing
      show()
      if (isFirst || !isSame(subscribed, admission.subscribed)) onSubscribed(admission.subscribed)
      const kept = new Set(admission.subscribed.map(({ symbol }) => symbol))
      const seen = new Set([...now.before, ...now.coins.map(({ symbol }) => symbol)])
      const departed = [...seen].filter(symbol => !kept.has(symbol))
      const inRedis = new Set(now.tracked.map(({ symbol }) => symbol))
      const isForgotten = admission.tracked.some(({ symbol }) => !inRedis.has(symbol))
      if (departed.length > 0 || isForgotten || tracked !== admission.tracked) track(departed)
    },
    judge: (minute, samples) => {
      const { tracked } = admission
      const passed = admission.judge(minute, samples)
      show()
      if (tracked !== admission.tracked) track([])
      return passed
    },
  }
}

function isSame(a: readonly Coin[], b: readonly Coin[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
