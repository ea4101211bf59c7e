import type { EpochMs, Exchange, Milliseconds, UpbitState } from '../market/types.ts'

/** Where and for how long a fault acts. Without `forMs` and `frames` it acts until somebody ends it. */
interface FaultScope {
  readonly exchange: Exchange | 'both'
  /** The exchange's own code, `KRW-BTC` or `BTCUSDT`. @default every market */
  readonly market?: string
  /** Ends this long after it was set, by the simulator's clock. */
  readonly forMs?: Milliseconds
  /** Ends after this many altered frames or responses. */
  readonly frames?: number
}

/** May lie in the past; without `from` and `to` it begins when the fault is set and ends with it. */
interface TimeSpan {
  readonly from?: EpochMs
  /** Not included. */
  readonly to?: EpochMs
}

/** A stretch of time in which nothing trades. */
interface Pause extends TimeSpan {
  /** Binance's klines of that time: with volume 0, or none. @default 'flat' */
  readonly klines?: 'flat' | 'none'
}

/** What a fault does. */
type FaultEffect =
  /** No stream frame, while pings are answered. What was held comes when it ends, if it is only late. */
  | { readonly kind: 'silence'; readonly delivery?: 'never' | 'late' }
  /** The connections that exist now stay open, but nothing is read and nothing is sent, not even a pong. */
  | { readonly kind: 'half-open' }
  /** The frame is replaced by bytes that are no frame. */
  | { readonly kind: 'garbage'; readonly shape: GarbageShape }
  /** The price in frames is multiplied. */
  | { readonly kind: 'price'; readonly factor: number }
  /** Connections are cut without a close frame: those that are open; with `forMs` new ones too. */
  | { readonly kind: 'drop' }
  /** Handshakes, REST requests or both get a status, or no response at all. */
  | {
      readonly kind: 'refuse'
      readonly status: number | 'hang'
      /** @default 'both' */
      readonly on?: 'ws' | 'rest' | 'both'
      /** Only paths that begin so. */
      readonly path?: string
      /** Share of requests that are refused, from 0 to 1. @default 1 */
      readonly share?: number
      /** The Retry-After header, in seconds or as a date. @default no header */
      readonly retryAfter?: number | string
    }
  /** Listed, but not trading, and no frame says so; Upbit's `state` is PREVIEW by default. */
  | ({ readonly kind: 'halt'; readonly state?: UpbitState } & Pause)
  /** The exchange does not trade and says nothing. */
  | ({ readonly kind: 'outage' } & Pause)
  /** Upbit publishes trades up to this much later, by a random time. */
  | ({ readonly kind: 'lag'; readonly maxMs: Milliseconds } & TimeSpan)
  /** Binance announces its end. */
  | { readonly kind: 'shutdown' }
  /** The exchange ignores something that it is asked for. */
  | { readonly kind: 'ignore'; readonly what: Ignored }
  /** How long after its minute's end an Upbit candle appears in responses. */
  | { readonly kind: 'late-candles'; readonly lateMs: Milliseconds }
  /** Upbit refuses every subscription that names the market: an error frame, then the end. */
  | { readonly kind: 'reject' }
  /** Upbit's `market_state` is this word, while the market trades. */
  | { readonly kind: 'state'; readonly state: string }
  /** REST responses, or those of paths that begin so, are empty, half as long, cut, or lack a market. */
  | {
      readonly kind: 'rest'
      readonly mode: 'empty' | 'half' | 'truncated' | 'omit'
      readonly path?: string
      /** The market that `omit` leaves out. */
      readonly without?: string
    }

/**
 * The format of Upbit's frames, which are DEFAULT then; a second subscription of an Upbit connection, which
 * brings no SNAPSHOTs then.
 */
export type Ignored = 'format' | 'resubscription'
/** The kinds of bytes that are no frame. */
export type GarbageShape = 'truncated' | 'utf8' | 'nested' | 'noise'
/** One thing that goes wrong, where and for how long. */
export type Fault = FaultScope & FaultEffect
/** What kinds of faults there are. */
export type FaultKind = Fault['kind']
/** A fault of one kind. */
export type FaultOf<K extends FaultKind> = Extract<Fault, { kind: K }>

/** A fault that is set. */
export interface ActiveFault<F extends Fault = Fault> {
  readonly id: number
  readonly fault: F
  readonly setAt: EpochMs
  /** Frames or responses it has altered so far. */
  altered: number
}

/** What a fault may act on. */
export interface FaultTarget {
  readonly exchange: Exchange
  /** Left out when a frame or request belongs to no single market; then faults of one market do not match. */
  readonly market?: string | undefined
}

/** Whether a fault acts on this exchange and market. */
export function actsOn(fault: Fault, { exchange, market }: FaultTarget): boolean {
  if (fault.exchange !== 'both' && fault.exchange !== exchange) return false
  return fault.market === undefined || fault.market === market
}

/** Which values a field may have. */
interface Rule {
  readonly accepts: (value: unknown, isMarket: (code: string) => boolean) => boolean
  /** The same in words. */
  readonly allowed: string
  readonly isRequired?: boolean
}
type Rules = Readonly<Record<string, Rule>>

const isWhole = (value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): boolean =>
  Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most
const rule = (allowed: string, accepts: Rule['accepts']): Rule => ({ allowed, accepts })
const required = (optional: Rule): Rule => ({ ...optional, isRequired: true })
const oneOf = (...names: readonly unknown[]): Rule =>
  rule(`one of ${names.join(', ')}`, value => names.includes(value))

const MARKET = 'the code of a simulated market, for example KRW-BTC or BTCUSDT'
const market = rule(MARKET, (value, isMarket) => isMarket(String(value)))
const path = rule('a path that begins with /', value => typeof value === 'string' && value.startsWith('/'))
const share = rule('a number from 0 to 1', value => typeof value === 'number' && value >= 0 && value <= 1)
const status = rule('from 400 to 599, or "hang"', value => value === 'hang' || isWhole(value, 400, 599))
const retryAfter = rule('seconds or a date', value => typeof value === 'string' || isWhole(value, 0))
const duration = rule('a whole number of milliseconds, 0 or more', value => isWhole(value, 0))
const lag = rule('a whole number of milliseconds, at most 10000', value => isWhole(value, 0, 10_000))
const count = rule('a whole number, 1 or more', value => isWhole(value, 1))
const factor = rule('a number', value => typeof value === 'number')
const span = { from: duration, to: duration }
const pause = { market, ...span, klines: oneOf('flat', 'none') }

const OF_EVERY_KIND: Rules = {
  exchange: required(oneOf('upbit', 'binance', 'both')),
  forMs: duration,
  frames: count,
}
const OF_KIND: Readonly<Record<FaultKind, Rules>> = {
  silence: { market, delivery: oneOf('never', 'late') },
  'half-open': {},
  garbage: { market, shape: required(oneOf('truncated', 'utf8', 'nested', 'noise')) },
  price: { market, factor: required(factor) },
  drop: {},
  refuse: { market, status: required(status), on: oneOf('ws', 'rest', 'both'), path, share, retryAfter },
  halt: { ...pause, state: oneOf('PREVIEW', 'ACTIVE', 'DELISTED') },
  outage: pause,
  lag: { market, ...span, maxMs: required(lag) },
  shutdown: {},
  ignore: { what: required(oneOf('format', 'resubscription')) },
  'late-candles': { market, lateMs: required(duration) },
  reject: { market: required(market) },
  state: { market, state: required(rule('a word', value => typeof value === 'string')) },
  rest: { mode: required(oneOf('empty', 'half', 'truncated', 'omit')), path, without: market },
}

/**
 * A fault from JSON that a person wrote.
 * @param isMarket whether any exchange has a market of that code
 * @throws FaultError naming the field, its value and what is allowed
 */
export function readFault(json: unknown, isMarket: (code: string) => boolean): Fault {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw refused('fault', json, 'a JSON object')
  }
  const { kind, ...given } = json as Readonly<Record<string, unknown>>
  if (typeof kind !== 'string' || !Object.hasOwn(OF_KIND, kind)) {
    throw refused('kind', kind, oneOf(...Object.keys(OF_KIND)).allowed)
  }
  const rules: Rules = { ...OF_EVERY_KIND, ...OF_KIND[kind as FaultKind] }
  for (const [name, value] of Object.entries(given)) {
    if (Object.hasOwn(rules, name)) continue
    throw refused(name, value, `left out; ${kind} has ${Object.keys(rules).join(', ')}`)
  }
  for (const [name, { accepts, allowed, isRequired }] of Object.entries(rules)) {
    if (name in given ? !accepts(given[name], isMarket) : isRequired)
      throw refused(name, given[name], allowed)
  }
  return json as Fault
}

function refused(field: string, value: unknown, allowed: string): FaultError {
  const got = value === undefined ? 'nothing' : JSON.stringify(value)
  return new FaultError(`${field} must be ${allowed}; got ${got}`)
}

/** What a person wrote is no fault; the message names the field and its value. */
export class FaultError extends Error {}
