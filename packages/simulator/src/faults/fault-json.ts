import { SimulatorError } from '../errors.ts'
import type { Fault, FaultKind } from './fault.ts'

/** Which values a field takes. */
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
  rest: { mode: required(oneOf('empty', 'half', 'truncated')), path },
}

/**
 * A fault from JSON that a person wrote.
 * @param isMarket whether any exchange has a market of that code
 * @throws SimulatorError SIM_ERR_FAULT naming the field, its value and what is allowed
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

function refused(field: string, value: unknown, allowed: string): SimulatorError {
  const got = value === undefined ? 'nothing' : JSON.stringify(value)
  return new SimulatorError('SIM_ERR_FAULT', `${field} must be ${allowed}; got ${got}`)
}
