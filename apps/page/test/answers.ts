import type { CoinPremium, History, LiveList } from '@kimchi/client'
import { formatTimestamp, minuteOf } from '@kimchi/core'

/** A service's answers; a test may change days and coins while the page is open. */
export interface Answers {
  list: LiveList | 'not_ready'
  /** By symbol, all days. A coin without is not tracked. */
  histories: Record<string, History>
}

/** The newest whole minute, as the API writes it. */
export function minuteAt(now: number): string {
  return formatTimestamp(minuteOf(now - 3_000))
}

/** Rows of the default coins, with premiums of both signs. */
export function liveListOf(updated_at: string): LiveList {
  const prices: [string, string, number, number, number][] = [
    ['BTC', 'Bitcoin', 1.2341, 143_500_000, 101_250.5],
    ['ETH', 'Ethereum', 1.1022, 4_957_000, 3_502.12],
    ['XRP', 'XRP', 0.8812, 3_389, 2.4],
    ['SOL', 'Solana', -0.2504, 268_100, 191.98],
    ['DOGE', 'Dogecoin', 2.0411, 245.3, 0.17171],
    ['ADA', 'Cardano', 0.5, 1_089, 0.774],
    ['TRX', 'TRON', -1.4032, 382.1, 0.27681],
    ['LINK', 'Chainlink', 0.9, 24_370, 17.25],
    ['AVAX', 'Avalanche', 1.31, 36_730, 25.9],
    ['DOT', 'Polkadot', 0.02, 9_802, 7.001],
  ]
  const data: CoinPremium[] = prices.map(([symbol, name, premium_pct, upbit_krw, binance_usdt]) => ({
    symbol,
    name,
    premium_pct,
    upbit_krw,
    binance_usdt,
    usdt_krw: 1_400,
    snapshot_at: updated_at,
  }))
  return { result: 'ok', updated_at, count: data.length, note: 'Times are UTC.', data }
}

/** This many days up to that of `updated_at`, oscillating around one percent. */
export function historyOf(symbol: string, name: string, updated_at: string, days: number): History {
  const today = Date.parse(updated_at.slice(0, 10))
  const close = (index: number) =>
    Number((1 + Math.sin(index / 9) * 1.8 + Math.cos(index * 2.3) / 3).toFixed(4))
  const data = Array.from({ length: days }, (_, index) => {
    const [open, end] = [close(days - index), close(days - index - 1)]
    const isToday = index === days - 1
    return {
      date: new Date(today - (days - 1 - index) * 86_400_000).toISOString().slice(0, 10),
      open_pct: open,
      high_pct: Number((Math.max(open, end) + 0.31).toFixed(4)),
      low_pct: Number((Math.min(open, end) - 0.27).toFixed(4)),
      close_pct: end,
      avg_pct: Number(((open + end) / 2).toFixed(4)),
      samples: isToday ? minuteOf(Date.parse(`${updated_at}Z`) - today) + 1 : index === 2 ? 1_391 : 1_440,
    }
  })
  return { result: 'ok', symbol, name, count: days, data }
}

/** Answers of a service in good health: 500 days of BTC, 8 of ETH. */
export function goodAnswers(): { list: LiveList; histories: Answers['histories'] } {
  const minute = minuteAt(Date.now())
  return {
    list: liveListOf(minute),
    histories: {
      BTC: historyOf('BTC', 'Bitcoin', minute, 500),
      ETH: historyOf('ETH', 'Ethereum', minute, 8),
    },
  }
}

/** The answers of a list that has as many other rows, each like one of its own but for this. */
export function withRows(good: ReturnType<typeof goodAnswers>, rows: readonly Partial<CoinPremium>[]) {
  const own = good.list.data as readonly [CoinPremium, ...CoinPremium[]]
  const data = rows.map((row, index) => ({ ...own[index % own.length], ...row }) as CoinPremium)
  return { ...good, list: { ...good.list, count: data.length, data } }
}

/** The same list with simulated prices, and with a row of SOL that is an hour old. */
export function oldRow(list: LiveList, ageMs = 3_600_000): LiveList {
  const snapshot_at = minuteAt(Date.parse(`${list.updated_at}Z`) - ageMs)
  const data = list.data.map(coin => (coin.symbol === 'SOL' ? { ...coin, snapshot_at } : coin))
  return { ...list, note: 'SIMULATED PRICES.', data }
}

/** A service's response to a request, with the time of its clock. */
export function respond(answers: Answers, url: URL, now: number) {
  const headers = { date: new Date(now).toUTCString(), 'content-type': 'application/json' }
  const [, symbol] = /kimchi-premium\/([^/]+)\/daily/.exec(url.pathname) ?? []
  const refuse = (status: number, code: string) => ({
    status,
    headers: { ...headers, 'retry-after': '5' },
    json: { result: 'error', code, message: code },
  })
  if (answers.list === 'not_ready') return refuse(503, 'not_ready')
  if (symbol === undefined) return { status: 200, headers, json: answers.list }
  const history = answers.histories[symbol]
  if (!history) return refuse(404, 'unknown_symbol')
  const data = history.data.slice(-Number(url.searchParams.get('days') ?? 365))
  return { status: 200, headers, json: { ...history, count: data.length, data } }
}
