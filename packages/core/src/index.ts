export type { Clock } from './clock.ts'
export type { Context } from './context.ts'
export { averageE4, type Day, foldDays } from './daily.ts'
export { KimchiError, type KimchiErrorCode, messageOf } from './errors.ts'
export { LatestTicks, type LatestTicksStatus } from './latest-ticks.ts'
export { isWorthALine, type Log } from './log.ts'
export { isPrice, percentOf, premiumE4 } from './premium.ts'
export type { Coin, PricesKind, Sample, SampleSource } from './sample.ts'
export {
  type GapReason,
  type Leg,
  MAX_CARRY_MS,
  type MinuteLegs,
  type SettledReason,
  sampleOrGap,
} from './sample-or-gap.ts'
export {
  choiceSetting,
  integerSetting,
  readSettings,
  type Setting,
  type SettingValues,
  urlListSetting,
  wordSetting,
} from './settings.ts'
export {
  type Gap,
  PACEMAKERS,
  RATE_MARKET,
  REFERENCE_MARKETS,
  type Snapshot,
  takeSnapshot,
} from './snapshot.ts'
export { SpikeFilter, type SpikeVerdict } from './spike-filter.ts'
export type { Exchange, Interruption, Market, Tick } from './tick.ts'
export {
  DAY_MINUTES,
  DAY_MS,
  dateOf,
  dayStart,
  formatTimestamp,
  HOUR_MS,
  MINUTE_MS,
  minuteOf,
  minuteStart,
  parseTimestamp,
} from './time.ts'
export type {
  EpochMinute,
  EpochMs,
  Milliseconds,
  PremiumE4,
  UtcDate,
} from './units.ts'
