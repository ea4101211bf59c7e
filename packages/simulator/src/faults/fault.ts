import type { EpochMs, Exchange, Milliseconds, UpbitState } from '../market/types.ts'
import { parseJson } from '../server/wire.ts'

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
  /** When it acts: from its setting to its end, where the fault itself says nothing else. */
  readonly from: EpochMs
  to: EpochMs
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

/** Which values a field may have: in words, and as a test. */
interface Rule {
  readonly allowed: string
  readonly accepts: (value: unknown) => boolean
  readonly isRequired?: boolean
}
type Rules = Readonly<Record<string, Rule>>

const rule = (allowed: string, accepts: Rule['accepts']): Rule => ({ allowed, accepts })
const required = (optional: Rule): Rule => ({ ...optional, isRequired: true })
const oneOf = (...names: readonly unknown[]): Rule =>
  rule(`one of ${names.join(', ')}`, value => names.includes(value))
const whole = (words: string, least: number, most = Number.MAX_SAFE_INTEGER): Rule =>
  rule(`a whole number${words}`, value => isWhole(value, least, most))
const isWhole = (value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): boolean =>
  Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most

const duration = whole(' of milliseconds, 0 or more', 0)
const path = rule('a path that begins with /', value => typeof value === 'string' && value.startsWith('/'))
const span = { from: duration, to: duration }

/** The fields of each kind, besides those that every kind has. */
function fieldsOf(market: Rule): Readonly<Record<FaultKind, Rules>> {
  const pause = { market, ...span, klines: oneOf('flat', 'none') }
  return {
    silence: { market, delivery: oneOf('never', 'late') },
    'half-open': {},
    garbage: { market, shape: required(oneOf('truncated', 'utf8', 'nested', 'noise')) },
    price: { market, factor: required(rule('a number', value => typeof value === 'number')) },
    drop: {},
    refuse: {
      market,
      status: required(
        rule('from 400 to 599, or "hang"', value => value === 'hang' || isWhole(value, 400, 599)),
      ),
      on: oneOf('ws', 'rest', 'both'),
      path,
      share: rule('a number from 0 to 1', value => typeof value === 'number' && value >= 0 && value <= 1),
      retryAfter: rule('seconds or a date', value => typeof value === 'string' || isWhole(value, 0)),
    },
    halt: { ...pause, state: oneOf('PREVIEW', 'ACTIVE', 'DELISTED') },
    outage: pause,
    lag: { market, ...span, maxMs: required(whole(' of milliseconds, at most 10000', 0, 10_000)) },
    shutdown: {},
    ignore: { what: required(oneOf('format', 'resubscription')) },
    'late-candles': { market, lateMs: required(duration) },
    reject: { market: required(market) },
    state: { market, state: required(rule('a word', value => typeof value === 'string')) },
    rest: { mode: required(oneOf('empty', 'half', 'truncated', 'omit')), path, without: market },
  }
}

/**
 * A fault from JSON that a person wrote.
 * @param isMarket whether any exchange has a market of that code
 * @throws FaultError naming the field, its value and what is allowed
 */
export function readFault(text: string, isMarket: (code: string) => boolean): Fault {
  const json = parseJson(text)
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new FaultError(`a fault must be a JSON object; got ${text.slice(0, 200)}`)
  }
  const kinds = fieldsOf(
    rule('the code of a simulated market, for example KRW-BTC or BTCUSDT', code => isMarket(String(code))),
  )
  const { kind, ...given } = json as Readonly<Record<string, unknown>>
  check('kind', kind, required(oneOf(...Object.keys(kinds))))
  const rules: Rules = {
    exchange: required(oneOf('upbit', 'binance', 'both')),
    forMs: duration,
    frames: whole(', 1 or more', 1),
    ...kinds[kind as FaultKind],
  }
  const notAllowed = rule(`left out; ${kind} has ${Object.keys(rules).join(', ')}`, () => false)
  for (const name of Object.keys(given)) if (!Object.hasOwn(rules, name)) check(name, given[name], notAllowed)
  for (const [name, wanted] of Object.entries(rules)) check(name, given[name], wanted)
  return json as Fault
}

function check(field: string, value: unknown, { allowed, accepts, isRequired = false }: Rule): void {
  if (value === undefined ? !isRequired : accepts(value)) return
  const got = value === undefined ? 'nothing' : JSON.stringify(value)
  throw new FaultError(`${field} must be ${allowed}; got ${got}`)
}

/** What a person wrote is no fault; the message names the field and its value. */
export class FaultError extends Error {}
