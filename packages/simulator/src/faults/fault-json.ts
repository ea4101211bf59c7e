import { SimulatorError } from '../errors.ts'
import type { Fault, FaultKind } from './fault.ts'

type JsonObject = Readonly<Record<string, unknown>>
/** Says what is allowed, or nothing when the value is. */
type Check = (value: unknown) => string | undefined

interface Shape {
  /** Whether the fault may be limited to one market. */
  readonly market: 'optional' | 'required' | 'none'
  readonly fields: Readonly<Record<string, Check>>
  readonly required?: readonly string[]
}

/**
 * A fault from JSON that a person wrote.
 * @param isMarket whether any exchange has a market of that code
 * @throws SimulatorError SIM_ERR_FAULT naming the field, its value and what is allowed
 */
export function readFault(json: unknown, isMarket: (code: string) => boolean): Fault {
  if (!isObject(json)) throw refused('fault', json, 'a JSON object')
  const shape = SHAPES[json.kind as FaultKind] as Shape | undefined
  if (!shape || !Object.hasOwn(SHAPES, String(json.kind))) throw refused('kind', json.kind, oneOf(KINDS))
  const { exchange } = json
  ensure('exchange', exchange, among('upbit', 'binance', 'both'))
  checkMarket(json, shape, isMarket)
  const fields: Shape['fields'] = { ...SCOPE, ...shape.fields }
  for (const [name, value] of Object.entries(json)) {
    if (name === 'kind' || name === 'exchange' || name === 'market') continue
    const check = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (!check) {
      throw refused(name, value, `left out; ${String(json.kind)} has ${Object.keys(fields).join(', ')}`)
    }
    ensure(name, value, check)
  }
  for (const name of shape.required ?? []) if (!(name in json)) throw refused(name, undefined, 'given')
  return json as unknown as Fault
}

function checkMarket(json: JsonObject, shape: Shape, isMarket: (code: string) => boolean): void {
  const { market } = json
  if (market === undefined) {
    if (shape.market === 'required') throw refused('market', market, 'a market code, for example KRW-BTC')
    return
  }
  if (shape.market === 'none') {
    throw refused('market', market, `left out: ${String(json.kind)} acts on whole connections`)
  }
  if (typeof market !== 'string' || !isMarket(market)) {
    throw refused('market', market, 'the code of a simulated market, for example KRW-BTC or BTCUSDT')
  }
}

const duration: Check = value => (isWhole(value, 0) ? undefined : 'a whole number of milliseconds, 0 or more')
const count: Check = value => (isWhole(value, 1) ? undefined : 'a whole number, 1 or more')

const SCOPE: Shape['fields'] = { forMs: duration, frames: count }
const PAUSE: Shape['fields'] = { from: duration, to: duration, klines: among('flat', 'none') }

const SHAPES: Readonly<Record<FaultKind, Shape>> = {
  silence: { market: 'optional', fields: {} },
  'half-open': { market: 'none', fields: {} },
  garbage: {
    market: 'optional',
    fields: { shape: among('truncated', 'utf8', 'nested', 'noise') },
    required: ['shape'],
  },
  price: { market: 'optional', fields: { factor: isFactor }, required: ['factor'] },
  drop: { market: 'none', fields: { code: isCloseCode } },
  refuse: {
    market: 'none',
    fields: { status: isStatus, on: among('ws', 'rest', 'both') },
    required: ['status'],
  },
  halt: { market: 'optional', fields: { ...PAUSE, state: among('PREVIEW', 'DELISTED') } },
  outage: { market: 'optional', fields: PAUSE },
  delist: { market: 'required', fields: {} },
  shutdown: { market: 'none', fields: { closeAfterMs: duration } },
  rest: {
    market: 'none',
    fields: { mode: among('slow', 'empty', 'half', 'truncated'), ms: duration, path: isPath },
    required: ['mode'],
  },
}

const KINDS = Object.keys(SHAPES)

function ensure(name: string, value: unknown, check: Check): void {
  const allowed = check(value)
  if (allowed) throw refused(name, value, allowed)
}

function refused(field: string, value: unknown, allowed: string): SimulatorError {
  const got = value === undefined ? 'nothing' : JSON.stringify(value)
  return new SimulatorError('SIM_ERR_FAULT', `${field} must be ${allowed}; got ${got}`)
}

function among(...allowed: readonly string[]): Check {
  return value => (allowed.includes(value as string) ? undefined : oneOf(allowed))
}

function oneOf(allowed: readonly string[]): string {
  return `one of ${allowed.join(', ')}`
}

function isFactor(value: unknown): string | undefined {
  return typeof value === 'number' ? undefined : 'a number'
}

function isStatus(value: unknown): string | undefined {
  return value === 'hang' || (isWhole(value, 300) && value <= 599)
    ? undefined
    : 'a status from 300 to 599, or "hang"'
}

function isCloseCode(value: unknown): string | undefined {
  const isFree = isWhole(value, 1000) && value <= 4999 && ![1004, 1005, 1006].includes(value)
  return isFree ? undefined : 'a WebSocket close code that may be sent'
}

function isPath(value: unknown): string | undefined {
  return typeof value === 'string' && value.startsWith('/') ? undefined : 'a path that begins with /'
}

function isWhole(value: unknown, least: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
