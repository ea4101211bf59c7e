export type { Clock } from './clock.ts'
export { averageE4, type Day, foldDays } from './daily.ts'
export { KimchiError, type KimchiErrorCode, messageOf } from './errors.ts'
export { LatestTicks, MAX_LAG_MS, type Skew } from './latest-ticks.ts'
export { isPrice, percentOf, premiumE4 } from './premium.ts'
export type { Coin, PricesKind, Sample, SampleSource } from './sample.ts'
export {
  choiceSetting,
  integerSetting,
  readSettings,
  type Setting,
  type Settings,
  type SettingValues,
  urlSetting,
  wordSetting,
} from './settings.ts'
export {
  type Gap,
  type GapReason,
  type Leg,
  MAX_CARRY_MS,
  type MinuteLegs,
  RATE_MARKET,
  type Snapshot,
  sampleOrGap,
  takeSnapshot,
  WITNESS_MARKETS,
} from './snapshot.ts'
export type { Exchange, Market, Tick } from './tick.ts'
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
  Krw,
  KrwPerUsdt,
  Milliseconds,
  PremiumE4,
  Usdt,
  UtcDate,
} from './units.ts'
export { type DailyRow, type LiveRow, toDailyRow, toLiveRow } from './wire.ts'
export { type Testimony, Witness } from './witness.ts'
