import type { AddressInfo } from 'node:net'
import type { Day, EpochMinute } from '@kimchi/core'
import { dateOf, formatTimestamp, minuteOf, minuteStart } from '@kimchi/core'
import type { Board, BoardRow, KnownCoin, Readable } from '@kimchi/store'
import { createMemoryLog } from '@kimchi/testkit'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { Documents } from '../src/documents/documents.ts'
import type { Sources } from '../src/documents/histories.ts'
import { type AppOptions, createApp } from '../src/http/app.ts'
import type { Route } from '../src/http/sender.ts'
import { breachesOf } from './contract.ts'

/** The minute at which these tests begin: 2026-11-20T13:05. */
export const MINUTE: EpochMinute = minuteOf(Date.UTC(2026, 10, 20, 13, 5))

/** A coin as Redis lists it. */
function coinOf(symbol: string, order: number | undefined): KnownCoin {
  const name = symbol === 'BTC' ? 'Bitcoin' : `Coin ${symbol}`
  return { symbol, name, upbit: `KRW-${symbol}`, binance: `${symbol}USDT`, order }
}

/** A coin's newest sample. */
export function rowOf(symbol: string, minute: EpochMinute, name = coinOf(symbol, 0).name): BoardRow {
  const json = JSON.stringify({
    symbol,
    name,
    premium_pct: 1.2345,
    upbit_krw: 143_500_000,
    binance_usdt: 101_250.5,
    usdt_krw: 1_400,
    snapshot_at: formatTimestamp(minute),
  })
  return { symbol, minute, premiumE4: 12_345, json }
}

/** A day with `samples` samples of a premium of 1.2345 %. */
export function dayOf(date: string, samples = 1_440): Day {
  const first = minuteOf(Date.parse(`${date}T00:00:00Z`))
  const premium = 12_345
  return {
    date,
    open: premium,
    high: premium,
    low: premium,
    close: premium,
    sum: premium * samples,
    samples,
    firstMinute: first,
    lastMinute: first + samples - 1,
  }
}

/** `count` whole days up to the day before `date`, ascending. */
export function daysBefore(date: string, count: number): Day[] {
  const end = Date.parse(`${date}T00:00:00Z`)
  return Array.from({ length: count }, (_, index) =>
    dayOf(new Date(end - (count - index) * 86_400_000).toISOString().slice(0, 10)),
  )
}

/** What one read returns when each of these coins has a row of this minute. */
export function boardOf(
  minute: EpochMinute,
  symbols: readonly string[] = ['BTC'],
  over: Partial<Board> = {},
): Board {
  const today = dateOf(minute)
  const samples = minute - minuteOf(Date.parse(`${today}T00:00:00Z`)) + 1
  return {
    prices: 'live',
    coins: symbols.map(coinOf),
    rows: symbols.map(symbol => rowOf(symbol, minute)),
    today,
    todayRows: new Map(symbols.map(symbol => [symbol, dayOf(today, samples)])),
    revisions: new Map(symbols.map(symbol => [symbol, 1])),
    newestMinute: symbols.length === 0 ? 0 : minute,
    corrupt: 0,
    ...over,
  }
}

/** A reader whose answers a test sets; counts its reads. */
function fakeReader(board: Board | Error) {
  const reader = {
    board,
    days: new Map<string, readonly Day[]>(),
    boardsRead: 0,
    daysRead: [] as string[],
    /** Every read waits for it. */
    gate: Promise.resolve() as Promise<void>,
    /** Has reads wait until what it returns is called. */
    hold() {
      let release = () => {}
      reader.gate = new Promise(resolve => {
        release = resolve
      })
      return release
    },
    async readBoard(): Promise<Board> {
      reader.boardsRead += 1
      await reader.gate
      if (reader.board instanceof Error) throw reader.board
      return { ...reader.board }
    },
    async readDays(symbol: string): Promise<Readable<Day>> {
      reader.daysRead.push(symbol)
      await reader.gate
      if (reader.board instanceof Error) throw reader.board
      return { entries: reader.days.get(symbol) ?? [], corrupt: 0 }
    },
  } satisfies Sources['reader'] & Record<string, unknown>
  return reader
}

/** `app.inject` that fails the test when an answer breaks the documented contract. */
function checkedInject(t: Test, app: FastifyInstance) {
  return async (request: string | InjectOptions): Promise<LightMyRequestResponse> => {
    const answer = await app.inject(request)
    const { method = 'GET', url } = typeof request === 'string' ? { url: request } : request
    const seen = { status: answer.statusCode, headers: answer.headers, body: answer.payload }
    t.strictSame(await breachesOf(method, String(url), seen), [], `${method} ${url} keeps the contract`)
    return answer
  }
}

/** An app over a fake reader and a clock at {@link MINUTE} + 2 s, closed with the test. */
export async function openTestApp(
  t: Test,
  board: Board | Error = boardOf(MINUTE),
  limits: AppOptions['limits'] = {},
) {
  const clock = createManualClock(minuteStart(MINUTE) + 2_000)
  const reader = fakeReader(board)
  const log = createMemoryLog()
  const documents = new Documents({ reader, clock, log })
  void documents.poll()
  const { app, durations } = createApp({ documents, log, clock, limits })
  t.teardown(async () => {
    await app.close()
    documents.close()
  })
  await documents.load()
  const listen = async () => {
    await app.listen({ host: '127.0.0.1', port: 0 })
    return (app.server.address() as AddressInfo).port
  }
  /** Has the next read find another board, and tells of a minute: the board's newest, where it has rows. */
  const publish = (next: Board, minute = next.newestMinute) => {
    reader.board = next
    documents.onMinute(minute)
  }
  /** How many responses of a route had this status. */
  const counted = async (route: Route, status: number) => {
    const { values } = await durations.get()
    const ofThese = values.filter(({ labels }) => labels.route === route && labels.status === status)
    return ofThese.find(({ metricName }) => metricName?.endsWith('_count'))?.value
  }
  return {
    listen,
    server: app.server,
    app: { inject: checkedInject(t, app) },
    clock,
    reader,
    documents,
    publish,
    counted,
    log,
  }
}
