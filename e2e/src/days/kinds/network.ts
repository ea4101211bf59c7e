import { DAY_MS, type EpochMs, MINUTE_MS } from '@kimchi/core'
import { COINS } from '../service.ts'
import { isFirst, type Kinds, type SimulatedFault } from './kind.ts'

const CANDLES = { upbit: '/v1/candles', binance: '/api/v3/klines' }

/** What becomes of frames and answers on their way to an ingester. */
export const NETWORK_KINDS: Kinds = {
  latency: {
    minutes: [1, 60],
    begin: (_parts, pick) => {
      const { weather } = pick.ingester()
      const before = weather.latencyMs
      weather.latencyMs = pick.of(300, 1_000, 1_400, 1_900)
      return () => Object.assign(weather, { latencyMs: before })
    },
  },
  stall: {
    minutes: [0.01, 0.75],
    begin: ({ world }, pick, forMs) =>
      void Object.assign(pick.ingester().weather, { stalledUntil: world.now + forMs }),
  },
  // What the old connections still have to say comes when others have taken their place, or never.
  'old connections': {
    minutes: [0.01, 1],
    begin: ({ exchanges, world }, pick, forMs) => {
      const { host } = pick.ingester()
      for (const way of exchanges.ways) if (way.host === host) way.stalledUntil = world.now + forMs
      const announced: SimulatedFault = { kind: 'shutdown', exchange: 'binance' }
      return pick.of(true, false) ? exchanges.simulator.faults.set(announced) : undefined
    },
  },
  storm: {
    minutes: [0.1, 5],
    sparesLive: true,
    begin: (_parts, pick) => {
      const { weather } = pick.ingester()
      weather.copies = pick.of(2, 20)
      return () => Object.assign(weather, { copies: 1 })
    },
  },
  'odd candles': {
    minutes: [1, 30],
    sparesLive: true,
    begin: ({ exchanges }, pick) => {
      const how = pick.of('double', 'null', 'missing')
      const { host } = pick.ingester()
      const exchange = pick.exchange()
      const alter = (rows: readonly unknown[], _: string, caller: string) => {
        const index = rows.length >> 1
        const row = rows[index] as Record<string, unknown> | undefined
        if (row === undefined || caller !== host.name) return rows
        const close = Array.isArray(row) ? '4' : 'trade_price'
        const other = Object.assign(structuredClone(row), { [close]: row['1'] ?? 1 })
        if (how === 'double') return rows.toSpliced(index, 0, other)
        if (how === 'null') row[close] = null
        else delete row[close]
        return rows
      }
      return exchanges.simulator.faults.set({ kind: 'rest', exchange, path: CANDLES[exchange], alter })
    },
  },
  // Every fourth minute, open ones among them, not those of all markets, and each in one answer: a candle that is
  // absent twice is believed to be.
  'absent candles': {
    minutes: [2, 20],
    begin: ({ exchanges: { simulator, absentOnce }, world }, pick) => {
      const phase = pick.between(0, 4)
      // Only minutes without a live sample need candles.
      const hear = simulator.faults.set({ kind: 'silence', exchange: 'binance' })
      // Nobody asks for older candles again.
      for (const each of absentOnce)
        if (Number(each.split(' ')[2]) < world.now - 2 * DAY_MS) absentOnce.delete(each)
      const alter = (rows: readonly unknown[], requested: string, caller: string) => {
        const [, symbol = ''] = /\bsymbol=(\w+)USDT/.exec(requested) ?? []
        const isDue = (at: EpochMs) => (at / MINUTE_MS + COINS.indexOf(symbol)) % 4 === phase
        const timeOf = (row: unknown) => (row as { 0: EpochMs })[0]
        const isAbsent = (at: EpochMs) => isDue(at) && isFirst(absentOnce, `${caller} ${symbol} ${at}`)
        return rows.filter(row => !isAbsent(timeOf(row)))
      }
      const path = CANDLES.binance
      const mend = simulator.faults.set({ kind: 'rest', exchange: 'binance', path, alter })
      return () => {
        hear()
        mend()
      }
    },
  },
  // When many minutes are open, once for each market: what two answers lack is believed.
  'short candles': {
    minutes: [2, 10],
    begin: ({ exchanges, world }, pick) => {
      const length = pick.between(1, 10)
      const { faults } = exchanges.simulator
      const candles = { exchange: 'upbit', path: CANDLES.upbit } as const
      const hear = faults.set({ kind: 'silence', exchange: 'upbit' })
      const admit = faults.set({ kind: 'refuse', ...candles, status: 500, on: 'rest' })
      return () => {
        hear()
        admit()
        const over = new Set<string>()
        const alter = (rows: readonly unknown[], requested: string, caller: string) => {
          const [market = ''] = /\bmarket=[\w-]+/.exec(requested) ?? []
          return isFirst(over, caller + market) ? rows.slice(0, length) : rows
        }
        world.after(MINUTE_MS, faults.set({ kind: 'rest', ...candles, alter }))
      }
    },
  },
  'cut socket': {
    minutes: [0.02, 0.1],
    losesFrames: true,
    begin: ({ exchanges }, pick) => {
      const { host } = pick.ingester()
      const isNoticed = pick.of(true, false)
      for (const way of [...exchanges.ways]) if (way.host === host) way.wire.cut(isNoticed)
    },
  },
}
