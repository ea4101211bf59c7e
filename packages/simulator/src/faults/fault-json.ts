import { SimulatorError } from '../errors.ts'
import type { Fault, FaultKind } from './fault.ts'

/** Says what is allowed, or nothing when the value is. */
type Check = (value: unknown) => string | undefined

/** The fields of each kind beside those of every kind; a `!` marks one that must be given. */
const FIELDS: Readonly<Record<FaultKind, string>> = {
  silence: 'market delivery',
  'half-open': '',
  garbage: 'market shape!',
  price: 'market factor!',
  drop: 'code afterFrames',
  error: 'name',
  refuse: 'market status! on path share retryAfter',
  halt: 'market state suspended status from to klines rolling',
  outage: 'market from to klines rolling',
  lag: 'market minMs maxMs! from to',
  omit: 'market fields!',
  delist: 'market!',
  shutdown: 'closeAfterMs',
  rest: 'mode! ms path',
}
const OF_EVERY_KIND = 'exchange! forMs frames'

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
  if (typeof kind !== 'string' || !Object.hasOwn(FIELDS, kind)) {
    throw refused('kind', kind, oneOf(Object.keys(FIELDS)))
  }
  const fields = `${OF_EVERY_KIND} ${FIELDS[kind as FaultKind]}`.split(' ')
  const names = fields.map(field => field.replace('!', ''))
  for (const field of fields.filter(name => name.endsWith('!'))) {
    const name = field.slice(0, -1)
    if (!(name in given)) throw refused(name, undefined, 'given')
  }
  for (const [name, value] of Object.entries(given)) {
    if (!names.includes(name)) throw refused(name, value, `left out; ${kind} has ${names.join(', ')}`)
    const allowed = checkOf(kind, name, isMarket)?.(value)
    if (allowed !== undefined) throw refused(name, value, allowed)
  }
  return json as Fault
}

function checkOf(kind: string, name: string, isMarket: (code: string) => boolean): Check | undefined {
  if (name === 'market') {
    return test(
      value => isMarket(String(value)),
      'the code of a simulated market, for example KRW-BTC or BTCUSDT',
    )
  }
  return CHECKS[`${kind}.${name}`] ?? CHECKS[name]
}

const isWhole = (value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): value is number =>
  Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most

const duration = test(value => isWhole(value, 0), 'a whole number of milliseconds, 0 or more')
const count = test(value => isWhole(value, 1), 'a whole number, 1 or more')
const truth = test(value => typeof value === 'boolean', 'true or false')

const CHECKS: Readonly<Record<string, Check>> = {
  exchange: among('upbit', 'binance', 'both'),
  forMs: duration,
  frames: count,
  delivery: among('never', 'late'),
  shape: among('truncated', 'utf8', 'nested', 'noise'),
  factor: test(value => typeof value === 'number', 'a number'),
  code: test(
    value => isWhole(value, 1000, 4999) && ![1004, 1005, 1006].includes(value),
    'a WebSocket close code that may be sent',
  ),
  afterFrames: count,
  name: test(value => typeof value === 'string', 'a text'),
  'refuse.status': test(
    value => value === 'hang' || isWhole(value, 300, 599),
    'a status from 300 to 599, or "hang"',
  ),
  on: among('ws', 'rest', 'both'),
  path: test(value => typeof value === 'string' && value.startsWith('/'), 'a path that begins with /'),
  share: test(value => typeof value === 'number' && value >= 0 && value <= 1, 'a number from 0 to 1'),
  retryAfter: test(value => typeof value === 'string' || isWhole(value, 0), 'seconds or a date'),
  state: among('PREVIEW', 'ACTIVE', 'DELISTED'),
  suspended: truth,
  'halt.status': among('HALT', 'BREAK'),
  from: duration,
  to: duration,
  klines: among('flat', 'none'),
  rolling: truth,
  minMs: duration,
  maxMs: test(value => isWhole(value, 0, 10_000), 'a whole number of milliseconds, at most 10000'),
  fields: test(
    value => Array.isArray(value) && value.every(field => typeof field === 'string'),
    'a list of field names',
  ),
  closeAfterMs: duration,
  mode: among('slow', 'empty', 'half', 'truncated'),
  ms: duration,
}

function test(isAllowed: (value: unknown) => boolean, allowed: string): Check {
  return value => (isAllowed(value) ? undefined : allowed)
}

function among(...allowed: readonly string[]): Check {
  return test(value => allowed.includes(value as string), oneOf(allowed))
}

function oneOf(allowed: readonly string[]): string {
  return `one of ${allowed.join(', ')}`
}

function refused(field: string, value: unknown, allowed: string): SimulatorError {
  const got = value === undefined ? 'nothing' : JSON.stringify(value)
  return new SimulatorError('SIM_ERR_FAULT', `${field} must be ${allowed}; got ${got}`)
}
