import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { MINUTE_MS } from '@kimchi/core'
import { createDoors, RestClient } from '@kimchi/feeds'
import { type Simulator, type SimulatorOptions, startSimulator } from '@kimchi/simulator'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config.ts'
import { examine } from '../../src/doctor/examine.ts'
import { createRecorder, type Recorder } from '../../src/doctor/exchange-recorder.ts'
import { type CheckName, type Finding, lineOf, summaryOf } from '../../src/doctor/finding.ts'
import { silent } from '../support/backfill-bench.ts'
import { lie, MARKET_COINS } from '../support/market.ts'

const STEP_MS = 250

// The first list of a process loads ccxt, for which a clock that the test turns could not wait.
const NONE = { upbit: 'http://127.0.0.1:2', binance: 'http://127.0.0.1:2' }
const { signal } = new AbortController()
const doors = createDoors(
  { streams: NONE, rest: NONE, userAgent: 'test' },
  { clock: createManualClock(0), random: () => 0.5, log: silent, signal },
)
await new RestClient(doors).fetchListings().catch(() => {})

interface RestAnswer {
  readonly body: unknown
  readonly headers: Headers
}

interface Case {
  readonly coins?: SimulatorOptions['coins']
  readonly env?: (simulator: Simulator) => Record<string, string>
  readonly record?: Recorder
  readonly prepare?: (simulator: Simulator) => unknown
  /** What becomes of a REST answer on its way. */
  readonly alter?: (url: string, answer: RestAnswer) => RestAnswer
}

/** The doctor before a real simulator, on a clock that stands still while REST answers are under way. */
async function examined(
  t: Test,
  { coins = MARKET_COINS, env, record = () => {}, prepare, alter }: Case = {},
) {
  const clock = createManualClock(Date.UTC(2026, 10, 20, 12, 0, 30))
  const simulator = await startSimulator({ clock, pumpMs: 0, coins })
  t.teardown(() => simulator.close())
  prepare?.(simulator)
  let asking = 0
  const { fetch } = globalThis
  const fetchCounted = async (...args: Parameters<typeof fetch>) => {
    asking += 1
    try {
      const response = await fetch(...args)
      const { status, ok, headers } = response
      if (!ok || alter === undefined) return new Response(await response.text(), { status, headers })
      const altered = alter(String(args[0]), { body: await response.json(), headers })
      return Response.json(altered.body, altered)
    } finally {
      asking -= 1
    }
  }
  t.intercept(globalThis, 'fetch', { value: fetchCounted })
  const config = readConfig({
    COINS: 'all',
    ...simulator.env,
    ...env?.(simulator),
  })
  const startedAt = clock.now()
  let isOver = false
  const examining = examine(
    { config, version: '1.2.3', record },
    { clock, random: () => 0.5, log: silent },
  ).finally(() => {
    isOver = true
  })
  while (!isOver) {
    await delay(1)
    if (asking > 0) continue
    simulator.pump()
    await clock.advance(STEP_MS)
  }
  const findings = await examining
  for (const finding of findings) t.comment(lineOf(finding))
  t.ok(clock.now() - startedAt <= 3 * MINUTE_MS, `took ${(clock.now() - startedAt) / 1_000} s`)
  const of = (outcome: Finding['outcome']) =>
    findings.filter(finding => finding.outcome === outcome).map(({ check }) => check)
  const finding = (check: Finding['check']) => findings.find(candidate => candidate.check === check)
  return { findings, of, finding, simulator, tookMs: clock.now() - startedAt }
}

t.test('all well: every line says ok, and so does the last one', async t => {
  const { of, findings } = await examined(t)
  t.strictSame(of('FAIL'), [])
  t.strictSame(of('unknown'), [])
  t.ok(findings.length >= 10)
  t.ok(findings.every(finding => lineOf(finding).startsWith('ok ')))
  t.equal(summaryOf(findings), '10 ok')
})

t.test('no base of an exchange answers: it stops within 20 s and says what to do', async t => {
  const { of, finding, findings, tookMs } = await examined(t, {
    prepare: ({ faults }) => faults.set({ kind: 'refuse', exchange: 'binance', status: 451 }),
  })
  t.ok(tookMs <= 20_000, `${tookMs} ms`)
  t.strictSame(of('FAIL'), ['bases'])
  t.strictSame(of('ok'), [])
  t.match(finding('bases'), { seen: /BINANCE_WS_URL.*HTTP 451/, advice: /set BINANCE_REST_URL/ })
  t.equal(summaryOf(findings), '1 failed, 9 not known')
})

t.test('an exchange that accepts and says nothing is not reached within 20 s', async t => {
  const { of, tookMs } = await examined(t, {
    prepare: ({ faults }) => faults.set({ kind: 'silence', exchange: 'upbit' }),
  })
  t.ok(tookMs <= 20_000, `${tookMs} ms`)
  t.strictSame(of('FAIL'), ['bases'])
})

t.test('one base of two answers: ok, with what the other said', async t => {
  const gone = await startSimulator()
  await gone.close()
  const { of, finding } = await examined(t, {
    env: ({ url, env }) => ({
      BINANCE_REST_URL: `${gone.url},${url}`,
      BINANCE_WS_URL: `${gone.url.replace('http', 'ws')},${env.BINANCE_WS_URL}`,
    }),
  })
  t.strictSame([...of('FAIL'), ...of('unknown')], [])
  t.match(finding('bases'), { seen: /refused: .*ECONNREFUSED/s })
})

const changed = (url: string, part: string, change: (body: unknown) => unknown, answer: RestAnswer) =>
  url.includes(part) ? { ...answer, body: change(answer.body) } : answer

/** Counts requests in this group of Upbit's. */
const inGroup = (counted: string): Pick<Case, 'alter'> => ({
  alter: (_url, answer) => ({ ...answer, headers: new Headers({ 'remaining-req': counted }) }),
})

const warnOf = (market: string): Pick<Case, 'alter'> => {
  const market_event = { warning: false, caution: { GLOBAL_PRICE_DIFFERENCES: true } }
  const change = (body: unknown) =>
    (body as { market: string }[]).map(entry =>
      entry.market === market ? { ...entry, market_event } : entry,
    )
  return { alter: (url, answer) => changed(url, '/v1/market/all', change, answer) }
}

interface Judged extends Case {
  readonly fault?: Parameters<Simulator['faults']['set']>[0]
  /** The checks that fail, and no others. */
  readonly fails?: readonly CheckName[]
  /** One that fails, beside what follows from it. */
  readonly failsAmongOthers?: CheckName
  /** Those that cannot be known. @default any */
  readonly unknown?: readonly CheckName[]
  readonly found?: { readonly [check in CheckName]?: object }
}

const FAR = [...MARKET_COINS, ...lie('FAR', 1.2)]

// docs/faults.md, 104
const CASES: Readonly<Record<string, Judged>> = {
  'an Origin header on the way, which Upbit counts in a group of its own: FAIL': {
    ...inGroup('group=origin; min=6; sec=0'),
    fails: ['bases'],
    found: { bases: { seen: /group=origin/ } },
  },
  'another name of the group of candles is shown, and no FAIL': {
    ...inGroup('group=quotation; min=600; sec=9'),
    unknown: ['bases'],
    found: { bases: { seen: /group=quotation/ } },
  },
  'one coin of all is matched: FAIL': {
    alter: (url, answer) => {
      const one = { symbol: 'BTCUSDT' }
      const isOne = ({ symbol }: typeof one) => symbol === one.symbol
      const change = (body: unknown) => ({
        symbols: (body as { symbols: (typeof one)[] }).symbols.filter(isOne),
      })
      return changed(url, 'exchangeInfo', change, answer)
    },
    fails: ['lists'],
  },
  'a subscription sent again brings no SNAPSHOTs: FAIL': {
    fault: { kind: 'snapshots-once', exchange: 'upbit' },
    fails: ['Upbit, renewal'],
    found: { 'Upbit, renewal': { seen: '9 SNAPSHOTs at first, then 0' } },
  },
  'a code is refused: FAIL with what Upbit says, and prices come from nowhere': {
    fault: { kind: 'reject', exchange: 'upbit', market: 'KRW-ADA' },
    fails: ['Upbit, codes'],
    found: { 'Upbit, codes': { seen: /error frame: .*INVALID_PARAM/, advice: /DENY=/ } },
  },
  'a code is refused and its coin is denied: ok, as the advice says': {
    env: () => ({ DENY: 'ADA' }),
    fault: { kind: 'reject', exchange: 'upbit', market: 'KRW-ADA' },
    unknown: [],
  },
  'frames that cannot be read: FAIL, with their number and the first reason': {
    fault: { kind: 'garbage', exchange: 'binance', market: 'XRPUSDT', shape: 'noise' },
    failsAmongOthers: 'Binance, streams',
    found: { 'Binance, streams': { seen: /\d+ malformed frames/ } },
  },
  'prices of Upbit 0.4 % off, and so between two of its steps: FAIL': {
    fault: { kind: 'price', exchange: 'upbit', market: 'KRW-SOL', factor: 1.004 },
    fails: ['rows'],
    found: {
      rows: { seen: /KRW-SOL \S+ at 12:\d\d, \S+ by its candle.*KRW-SOL [\d.]+ is no multiple of 100\b/ },
    },
  },
  'prices of Binance 0.4 % off: FAIL': {
    fault: { kind: 'price', exchange: 'binance', market: 'SOLUSDT', factor: 1.004 },
    fails: ['rows'],
    found: { rows: { seen: /^(?!.*no multiple).*SOLUSDT \S+ at 12:\d\d, \S+ by its candle/ } },
  },
  'a market that trades is said to be suspended or in PREVIEW: FAIL, with the reason': {
    fault: {
      kind: 'fields',
      exchange: 'upbit',
      market: 'KRW-ADA',
      alter: () => ({ market_state: 'PREVIEW' }),
    },
    fails: ['rows'],
    found: { rows: { seen: /ADA has no row at 12:\d\d \(halt\w+\) although it traded/ } },
  },
  'symbolStatus is ignored: FAIL, since a halted symbol is listed as trading': {
    alter: (url, answer) => {
      const old = { symbol: 'OLDUSDT', price: '1.00000000' }
      return changed(url, 'symbolStatus', body => [...(body as unknown[]), old], answer)
    },
    prepare: simulator =>
      simulator.list({ id: 'old', price: 1, binance: { asset: 'OLD', tradesPerMinute: 5 } }),
    fault: { kind: 'halt', exchange: 'binance', market: 'OLDUSDT' },
    fails: ['Binance, streams'],
    found: { 'Binance, streams': { seen: /1 of \d+ that do not trade are: OLDUSDT/ } },
  },
  'one frame of Upbit in seven comes 2.4 to 4 s late: FAIL, with the disorder that was seen': {
    fault: { kind: 'lag', exchange: 'upbit', minMs: 2_400, maxMs: 4_000, share: 0.15 },
    failsAmongOthers: 'disorder',
    found: { disorder: { seen: /upbit [234]\d{3} ms at most in \d+ frames, 1600 ms are waited for/ } },
  },
  'a symbol of Binance is silent: FAIL when its candles have trades': {
    fault: { kind: 'silence', exchange: 'binance', market: 'DOGEUSDT' },
    fails: ['rows'],
    found: { rows: { seen: /DOGEUSDT is silent although it trades/ } },
  },
  'candles that cannot be had: unknown': {
    fault: { kind: 'refuse', exchange: 'binance', market: 'LINKUSDT', status: 500, on: 'rest' },
    unknown: ['rows'],
    found: { rows: { seen: /LINKUSDT has no candle/ } },
  },
  'candles 40 s late: FAIL': {
    fault: { kind: 'late-candles', exchange: 'upbit', lateMs: 40_000 },
    fails: ['candles'],
    found: { candles: { seen: /KRW-BTC not there after 10 s/ } },
  },
  'a pair is far off the median: suspect': {
    coins: FAR,
    unknown: ['pairs'],
    found: { pairs: { seen: /The true FAR \(KRW-FAR\) and FARUSDT \d\d\.\d\d % \(suspect\)/ } },
  },
  'a pair is far off the median, and Upbit itself warns of it: ok': {
    coins: FAR,
    ...warnOf('KRW-FAR'),
    found: { pairs: { seen: /probably true, Upbit warns of it/ } },
    unknown: [],
  },
}

for (const [name, { fault, fails = [], failsAmongOthers, unknown, found = {}, ...each }] of Object.entries(
  CASES,
))
  t.test(name, async t => {
    const prepare = (simulator: Simulator) => {
      each.prepare?.(simulator)
      if (fault !== undefined) simulator.faults.set(fault)
    }
    const { of, finding } = await examined(t, { ...each, prepare })
    if (failsAmongOthers === undefined) t.strictSame(of('FAIL'), fails)
    else t.ok(of('FAIL').includes(failsAmongOthers))
    if (unknown !== undefined) t.strictSame(of('unknown'), unknown)
    for (const [check, wanted] of Object.entries(found)) t.match(finding(check as CheckName), wanted)
  })

t.test('a subscription sent again brings no SNAPSHOT of one market: FAIL, which names it', async t => {
  let forget: (() => unknown) | undefined
  const { of, finding } = await examined(t, {
    prepare: ({ faults }) => {
      forget = () => faults.set({ kind: 'silence', exchange: 'upbit', market: 'KRW-ADA' })
    },
    record: name => {
      if (name !== 'upbit-ws') return
      forget?.()
      forget = undefined
    },
  })
  t.ok(of('FAIL').includes('Upbit, renewal'))
  t.match(finding('Upbit, renewal'), { seen: /^9 SNAPSHOTs at first, then 8; not of KRW-ADA$/ })
})

t.test('--record: frames and answers in files that tests can read', async t => {
  const folder = t.testdir()
  await examined(t, { record: createRecorder(folder, { now: () => Date.UTC(2026, 10, 20) }) })
  const linesOf = (name: string) => {
    const text = readFileSync(join(folder, `${name}.jsonl`), 'utf8')
    return text
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
  }
  for (const name of ['upbit-ws', 'binance-ws']) {
    const lines = linesOf(name)
    t.ok(lines.length > 100)
    t.ok(lines.every(({ recv, payload }) => recv === Date.UTC(2026, 10, 20) / 1_000 && JSON.parse(payload)))
  }
  const lists = linesOf('upbit-market-all')
  t.equal(lists.length, 1)
  t.ok(JSON.parse(lists[0].payload).length > 5)
  t.equal(linesOf('binance-klines').length, 16, 'eight coins, asked twice')
  createRecorder(folder, { now: () => 0 })('binance-klines', '[]')
  t.equal(linesOf('binance-klines').length, 1, 'another run begins anew')
})
