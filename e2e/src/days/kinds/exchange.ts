import type { EpochMs } from '@kimchi/core'
import { beginWildQuarter, WILD_MINUTES } from '@kimchi/testkit'
import { COINS } from '../service.ts'
import { isFirst, type Kind, type Kinds, market, type Pick, type SimulatedFault } from './kind.ts'

type Alter = Extract<SimulatedFault, { kind: 'fields' }>['alter']

/** A fault that the simulator knows. */
const simulated = (
  minutes: Kind['minutes'],
  faultOf: (pick: Pick, now: EpochMs) => SimulatedFault,
  rule: Partial<Kind> = {},
): Kind => ({
  minutes,
  begin: ({ exchanges, world }, pick) => exchanges.simulator.faults.set(faultOf(pick, world.now)),
  ...rule,
})

/** Fields of frames that are not as documented. @param unit a millisecond in another unit of time */
const oddFields = (unit: number, price: string, time: string, ...times: string[]): Record<string, Alter> => ({
  'no price': () => ({ [price]: undefined }),
  'price null': () => ({ [price]: null }),
  'price of another type': frame => ({ [price]: price === 'c' ? Number(frame.c) : String(frame[price]) }),
  'no time': () => ({ [time]: undefined }),
  'time in another unit': frame => ({ [time]: Math.floor(Number(frame[time]) * unit) }),
  'dated ahead': frame =>
    Object.fromEntries([time, ...times].map(name => [name, Number(frame[name]) + 5_000])),
})

const ODD_FIELDS = {
  upbit: oddFields(0.001, 'trade_price', 'trade_timestamp', 'timestamp'),
  binance: oddFields(1_000, 'c', 'E'),
}

const REFUSALS: readonly (number | 'hang')[] = [403, 418, 429, 451, 500, 503, 'hang']

/** What an exchange does to everybody. */
export const EXCHANGE_KINDS: Kinds = {
  // At least as long as what docs/architecture.md calls a silence.
  silence: simulated([0.06, 20], pick => {
    const delivery = pick.of('never', 'late')
    return { kind: 'silence', exchange: pick.exchange(), delivery }
  }),
  'half-open': simulated([0.06, 10], pick => ({ kind: 'half-open', exchange: pick.exchange() })),
  drop: simulated(
    [0.02, 5],
    pick => ({ kind: 'drop', exchange: pick.exchange(), forMs: pick.of(1, 30_000) }),
    { losesFrames: true },
  ),
  'refused request': simulated([1, 40], (pick, now) => {
    const status = pick.of<number | 'hang'>(400, 403, 404, 429, 500, 503, 'hang')
    const retryAfter = pick.of<number | string>('', 90, 0, new Date(now + 120_000).toUTCString(), 'soon')
    const share = pick.of(1, 0.5)
    return { kind: 'refuse', exchange: pick.exchange(), status, on: 'rest', share, retryAfter }
  }),
  // Our own waits for a 418 and a 451 are five and ten minutes.
  ban: simulated(
    [1, 60],
    (pick, now) => {
      const retryAfter = pick.of<number | string>('', 60, 600, new Date(now + 600_000).toUTCString())
      const on = pick.of('ws', 'rest', 'both')
      const status = pick.of<number | 'hang'>(...(on === 'ws' ? REFUSALS : [418, 429, 451]))
      return { kind: 'refuse', exchange: pick.exchange(), status, on, retryAfter }
    },
    { wholeWithin: 15 },
  ),
  // While the other one is well; then the other way round.
  'refused base': {
    minutes: [15, 60],
    sparesLive: true,
    begin: ({ exchanges, world }, pick, forMs) => {
      const exchange = pick.exchange()
      const status = pick.of<number | 'hang'>(403, 451, 500, 503, 'hang')
      const refuse = (host: string) => {
        pick.losingLive()
        exchanges.simulator.faults.set({ kind: 'drop', exchange })
        return exchanges.simulator.faults.set({ kind: 'refuse', exchange, status, host })
      }
      let admit = refuse(exchange)
      world.after(forMs / 2, () => {
        admit()
        admit = refuse(`${exchange}-2`)
      })
      return () => admit()
    },
  },
  'silent market': simulated([0.1, 20], pick => {
    const exchange = pick.exchange()
    return { kind: 'silence', exchange, market: pick.unseen(exchange) }
  }),
  'wrong price': simulated([0.02, 30], pick => {
    const exchange = pick.exchange()
    // Null or no number, none, a redenomination either way.
    const factor = pick.of(Number.NaN, 0, -1, 1_000, 0.001)
    return { kind: 'price', exchange, market: market(exchange, pick.coin()), factor }
  }),
  // A tenth of the rate would be plausible beside a coin at +130 %: nothing tells it from the truth.
  'wrong rate': simulated([0.02, 10], pick => {
    return { kind: 'price', exchange: 'upbit', market: 'KRW-USDT', factor: pick.of(Number.NaN, 100, 0.01) }
  }),
  // True prices: each minute is live.
  'wild quarter': {
    minutes: [WILD_MINUTES, WILD_MINUTES + 1],
    sparesLive: true,
    begin: ({ exchanges, world }) => void beginWildQuarter(exchanges.simulator, world.now),
  },
  garbage: simulated([0.02, 10], pick => {
    const exchange = pick.exchange()
    // Bytes that still say whose they are, or any.
    const isOfMarket = pick.of(true, false)
    const shape = pick.of('truncated', 'utf8', ...(isOfMarket ? [] : (['nested', 'noise'] as const)))
    const of = isOfMarket ? { market: market(exchange, pick.coin()) } : { frames: pick.between(1, 200) }
    return { kind: 'garbage', exchange, shape, ...of }
  }),
  'odd frames': simulated([0.1, 10], pick => {
    const exchange = pick.exchange()
    const odd = ODD_FIELDS[exchange]
    const alter = odd[pick.of(...Object.keys(odd))] as Alter
    return { kind: 'fields', exchange, market: market(exchange, pick.coin()), alter }
  }),
  'odd state': simulated([1, 60], pick => {
    const state = pick.of('DELISTED', 'PREVIEW', 'SUSPENDED')
    const alter: Alter = () => ({ market_state: state })
    return { kind: 'fields', exchange: 'upbit', market: pick.halting('upbit'), alter }
  }),
  'refused market': simulated([1, 20], pick => {
    return { kind: 'reject', exchange: 'upbit', market: market('upbit', pick.of(...COINS)) }
  }),
  // It stays while it trades: docs/architecture.md.
  'omitted market': simulated([1, 30], pick => {
    const without = pick.halting('binance')
    const alter = (rows: readonly unknown[]) =>
      rows.filter(row => (row as { symbol: string }).symbol !== without)
    return { kind: 'rest', exchange: 'binance', path: '/api/v3/ticker', alter }
  }),
  halt: simulated([2, 90], pick => {
    const exchange = pick.exchange()
    return { kind: 'halt', exchange, market: pick.halting(exchange, 2) }
  }),
  outage: simulated([2, 30], pick => {
    const exchange = pick.exchange()
    const klines = pick.of('flat', 'none')
    if (exchange === 'binance' && klines === 'none') pick.lacking('no candles', exchange)
    return { kind: 'outage', exchange, klines }
  }),
  // Or else one market trades as rarely as that: its last price is carried for an hour.
  maintenance: simulated([61, 480], pick => {
    const exchange = pick.exchange()
    return pick.of(true, false)
      ? { kind: 'outage', exchange }
      : { kind: 'outage', exchange: 'upbit', market: market('upbit', pick.coin('USDT')) }
  }),
  lag: simulated([1, 60], pick => ({ kind: 'lag', exchange: 'upbit', maxMs: pick.of(300, 1_550) }), {
    sparesLive: true,
  }),
  shutdown: simulated([1, 2], () => ({ kind: 'shutdown', exchange: 'binance' }), { sparesLive: true }),
  'snapshots once': simulated([10, 60], pick => {
    pick.lacking('no SNAPSHOTs', 'upbit')
    return { kind: 'snapshots-once', exchange: 'upbit' }
  }),
  'late candles': simulated(
    [5, 60],
    pick => ({ kind: 'late-candles', exchange: 'upbit', lateMs: pick.between(1_000, 30_000) }),
    { sparesLive: true },
  ),
  'bad answer': simulated([1, 30], pick => {
    const exchange = pick.exchange()
    const mode = pick.of('empty', 'half', 'cut')
    // Half a list of what trades says of the others, whenever it is asked for, that they don't. One more where another
    // of them is not listed at all.
    if (mode === 'half') for (const coin of COINS.slice(COINS.length / 2 - 1)) pick.maybeHalting(coin)
    // Candles that two answers lack are believed not to be there.
    const isBelieved = mode === 'half' && exchange === 'upbit'
    const alter = (rows: readonly unknown[]) => rows.slice(0, mode === 'half' ? rows.length / 2 : 0)
    const path = isBelieved ? '/v1/market' : '/'
    return { kind: 'rest', exchange, path, alter: mode === 'cut' ? mode : alter }
  }),
  // Once for each ingester: what two answers lack is halted. The last market is one that rarely trades, without
  // which nobody notices that it was held for halted.
  'short answer': {
    minutes: [2, 3],
    sparesLive: true,
    begin: ({ exchanges }, pick) => {
      const length = pick.between(1, COINS.length)
      const over = new Set<string>()
      const alter = (rows: readonly unknown[], _: string, caller: string) =>
        isFirst(over, caller) ? rows.slice(0, length) : rows
      const path = '/api/v3/ticker'
      return exchanges.simulator.faults.set({ kind: 'rest', exchange: 'binance', path, alter })
    },
  },
  delisting: {
    minutes: [5, 120],
    begin: ({ exchanges }, pick) => exchanges.simulator.delist(pick.relisting(pick.exchange())),
  },
}
