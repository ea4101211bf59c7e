import type { components } from './openapi.ts'

/** The latest premium of every tracked coin, as the API answers it. Times are UTC, written without a zone. */
export type LiveList = components['schemas']['LiveList']

/** One coin of the live list: percent, KRW, USDT. */
export type CoinPremium = LiveList['data'][number]

/** The daily history of one coin, oldest day first, today included. */
export type History = components['schemas']['History']

/** One UTC day of a history: percent, and how many minutes make it up (1440 is a whole day). */
export type DailyPremium = History['data'][number]
