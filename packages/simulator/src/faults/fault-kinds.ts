import { parseJson } from '../server/client-input.ts'

type IsMarket = (code: string) => boolean

/** What a field of a fault may be: in words, and as a test. */
interface Field<T> {
  readonly allowed: string
  readonly accepts: (value: unknown, isMarket: IsMarket) => value is T & {}
}
interface NeededField<T> extends Field<T> {
  readonly isNeeded: true
}

const field = <T>(allowed: string, accepts: (value: unknown, isMarket: IsMarket) => boolean) =>
  ({ allowed, accepts }) as Field<T>
const needed = <T>(optional: Field<T>): NeededField<T> => ({ ...optional, isNeeded: true })
const oneOf = <const T>(...names: readonly T[]) =>
  field<T>(`one of ${names.join(', ')}`, value => names.some(name => name === value))
const isWhole = (value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): boolean =>
  Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most

const market = field<string>(
  'the code of a simulated market, for example KRW-BTC or BTCUSDT',
  (code, isMarket) => isMarket(String(code)),
)
const path = field<string>(
  'a path that begins with /',
  value => typeof value === 'string' && value.startsWith('/'),
)
const milliseconds = field<number>('a whole number of milliseconds, 0 or more', value => isWhole(value, 0))
/**
 * A stretch of time in which nothing trades, maybe in the past; without `from` it begins when it is set, `to` is not
 * included. Binance's klines of it have volume 0, or there are none.
 */
const pause = { market, from: milliseconds, to: milliseconds, klines: oneOf('flat', 'none') }

/** Where and for how long a fault acts. Without `forMs` and `frames` it acts until somebody ends it. */
const SCOPE = {
  exchange: needed(oneOf('upbit', 'binance', 'both')),
  /** Its length, by the simulator's clock. */
  forMs: milliseconds,
  /** Ends after this many altered frames or responses. */
  frames: field<number>('a whole number, 1 or more', value => isWhole(value, 1)),
}

/** What goes wrong, by the kinds of faults, with the fields of each. A market that is left out means every one. */
const share = field<number>(
  'a number from 0 to 1',
  value => typeof value === 'number' && value >= 0 && value <= 1,
)
const lagMs = field<number>('a whole number of milliseconds, at most 10000', value =>
  isWhole(value, 0, 10_000),
)

const KINDS = {
  /** No stream frame comes, while pings are answered. Frames that are `late` come when the silence ends. */
  silence: { market, delivery: oneOf('never', 'late') },
  /** The connections that exist now stay open, but nothing is read and nothing is sent, not even a pong. */
  'half-open': {},
  /** The frame is replaced by bytes that are no frame. */
  garbage: { market, shape: needed(oneOf('truncated', 'utf8', 'nested', 'noise')) },
  /** The price in frames is multiplied. */
  price: { market, factor: needed(field<number>('a number', value => typeof value === 'number')) },
  /** Connections are cut without a close frame: those that are open; with `forMs` new ones too. */
  drop: {},
  /** Handshakes, REST requests or both (the default) get a status, or no response at all. */
  refuse: {
    market,
    status: needed(
      field<number | 'hang'>(
        'from 400 to 599, or "hang"',
        value => value === 'hang' || isWhole(value, 400, 599),
      ),
    ),
    on: oneOf('ws', 'rest', 'both'),
    /** Only paths that begin so. */
    path,
    /** Share of requests that are refused; all by default. */
    share,
    /** The Retry-After header; none by default. */
    retryAfter: field<number | string>(
      'seconds or a date',
      value => typeof value === 'string' || isWhole(value, 0),
    ),
  },
  /** Listed, but not trading, and no frame says so. */
  halt: pause,
  /** The exchange does not trade and says nothing. */
  outage: pause,
  /** Upbit publishes trades, or a share of them, later by a random time of `minMs` (0 by default) to `maxMs`. */
  lag: { maxMs: needed(lagMs), minMs: lagMs, share },
  /** Binance announces that it will close the connection. */
  shutdown: {},
  /** Upbit sends SNAPSHOTs only for the first subscription of a connection. */
  'snapshots-once': {},
  /** How long after its minute's end an Upbit candle appears in responses. */
  'late-candles': { lateMs: needed(milliseconds) },
  /** Upbit refuses every subscription that names the market: an error frame, then the end. */
  reject: { market: needed(market) },
  /** Upbit's `market_state` is this word; without it PREVIEW in a halt, else ACTIVE. */
  state: { market, state: needed(field<string>('a word', value => typeof value === 'string')) },
  /** REST responses, or those of paths that begin so, are empty, half as long, cut, or lack the market `without`. */
  rest: { mode: needed(oneOf('empty', 'half', 'truncated', 'omit')), path, without: market },
}

type Values<F> = {
  readonly [N in keyof F as F[N] extends NeededField<unknown> ? N : never]: ValueOf<F[N]>
} & {
  readonly [N in keyof F as F[N] extends NeededField<unknown> ? never : N]?: ValueOf<F[N]>
}
type ValueOf<F> = F extends Field<infer T> ? T : never

export type FaultKind = keyof typeof KINDS
/** One thing that goes wrong, where and for how long. */
export type Fault = {
  [K in FaultKind]: { readonly kind: K } & Values<typeof SCOPE> & Values<(typeof KINDS)[K]>
}[FaultKind]
export type FaultOf<K extends FaultKind> = Extract<Fault, { kind: K }>

/**
 * A fault from JSON that a person wrote.
 * @param isMarket whether any exchange has a market of that code
 * @throws TypeError naming the field, its value and what is allowed
 */
export function readFault(text: string, isMarket: IsMarket): Fault {
  const json = parseJson(text)
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new TypeError(`a fault must be a JSON object; got ${text.slice(0, 200)}`)
  }
  const { kind, ...given } = json as Readonly<Record<string, unknown>>
  const check = (name: string, value: unknown, wanted: Field<unknown>): void => {
    if (value === undefined ? !('isNeeded' in wanted) : wanted.accepts(value, isMarket)) return
    const got = value === undefined ? 'nothing' : JSON.stringify(value)
    throw new TypeError(`${name} must be ${wanted.allowed}; got ${got}`)
  }
  check('kind', kind, needed(oneOf(...Object.keys(KINDS))))
  const fields: Readonly<Record<string, Field<unknown>>> = { ...SCOPE, ...KINDS[kind as FaultKind] }
  const unknown = field(`left out; ${kind} has ${Object.keys(fields).join(', ')}`, () => false)
  for (const name of Object.keys(given)) if (!Object.hasOwn(fields, name)) check(name, given[name], unknown)
  for (const [name, wanted] of Object.entries(fields)) check(name, given[name], wanted)
  return json as Fault
}
