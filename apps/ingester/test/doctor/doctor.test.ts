import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { MINUTE_MS } from '@kimchi/core'
import { createManualClock } from '@kimchi/core/testing'
import { createDoors, RestClient } from '@kimchi/feeds'
import { type Simulator, type SimulatorOptions, startSimulator } from '@kimchi/simulator'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config.ts'
import { examine } from '../../src/doctor/examine.ts'
import { createRecorder, type Recorder } from '../../src/doctor/exchange-recorder.ts'
import { type Finding, lineOf, summaryOf } from '../../src/doctor/finding.ts'
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
    { config, version: '1.2.3', record, onProgress: () => {} },
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

t.test('an Origin header on the way: FAIL, since Upbit counts it in a group of its own', async t => {
  const { of, finding } = await examined(t, {
    alter: (_url, answer) => ({
      ...answer,
      headers: new Headers({ 'remaining-req': 'group=origin; min=6; sec=0' }),
    }),
  })
  t.strictSame(of('FAIL'), ['bases'])
  t.match(finding('bases'), { seen: /group=origin/ })
})

t.test('one coin of all is matched: FAIL', async t => {
  const { of } = await examined(t, {
    alter: (url, answer) => {
      if (!url.includes('exchangeInfo')) return answer
      const { symbols } = answer.body as { symbols: { symbol: string }[] }
      return { ...answer, body: { symbols: symbols.filter(({ symbol }) => symbol === 'BTCUSDT') } }
    },
  })
  t.strictSame(of('FAIL'), ['lists'])
})

t.test('a subscription sent again brings no SNAPSHOTs: FAIL', async t => {
  const { of, finding } = await examined(t, {
    prepare: ({ faults }) => faults.set({ kind: 'snapshots-once', exchange: 'upbit' }),
  })
  t.strictSame(of('FAIL'), ['Upbit, renewal'])
  t.match(finding('Upbit, renewal'), { seen: '9 SNAPSHOTs at first, then 0, 0, 0' })
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
  t.match(finding('Upbit, renewal'), { seen: /^9 SNAPSHOTs at first, then 8, 8, 8; not of KRW-ADA$/ })
})

t.test('a code is refused: FAIL with what Upbit says, and prices come from nowhere', async t => {
  const { of, finding } = await examined(t, {
    prepare: ({ faults }) => faults.set({ kind: 'reject', exchange: 'upbit', market: 'KRW-ADA' }),
  })
  t.strictSame(of('FAIL'), ['Upbit, codes'])
  t.match(finding('Upbit, codes'), { seen: /error frame: .*INVALID_PARAM/, advice: /DENY=/ })
})

t.test('a code is refused and its coin is denied: ok, as the advice says', async t => {
  const { of } = await examined(t, {
    env: () => ({ DENY: 'ADA' }),
    prepare: ({ faults }) => faults.set({ kind: 'reject', exchange: 'upbit', market: 'KRW-ADA' }),
  })
  t.strictSame([...of('FAIL'), ...of('unknown')], [])
})

t.test('frames that cannot be read: FAIL, with their number and the first reason', async t => {
  const { of, finding } = await examined(t, {
    prepare: ({ faults }) =>
      faults.set({ kind: 'garbage', exchange: 'binance', market: 'XRPUSDT', shape: 'noise' }),
  })
  t.match(of('FAIL'), ['Binance, streams'])
  t.match(finding('Binance, streams'), { seen: /\d+ malformed frames/ })
})

// docs/faults.md, 104
t.test('prices of frames 0.4 % off: FAIL, on either exchange', async t => {
  for (const [exchange, market] of [
    ['upbit', 'KRW-SOL'],
    ['binance', 'SOLUSDT'],
  ] as const) {
    const { of, finding } = await examined(t, {
      prepare: ({ faults }) => faults.set({ kind: 'price', exchange, market, factor: 1.004 }),
    })
    t.strictSame(of('FAIL'), ['rows'])
    t.match(finding('rows'), { seen: new RegExp(`${market} \\S+ at 12:\\d\\d, \\S+ by its candle`) })
    const isStepNamed = /KRW-SOL [\d.]+ is no multiple of 100\b/.test(finding('rows')?.seen ?? '')
    t.equal(isStepNamed, exchange === 'upbit', 'so is a price between two of Upbit’s steps')
  }
})

// docs/faults.md, 104
t.test('a market that trades is said to be suspended or in PREVIEW: FAIL, with the reason', async t => {
  const { of, finding } = await examined(t, {
    prepare: ({ faults }) =>
      faults.set({ kind: 'state', exchange: 'upbit', market: 'KRW-ADA', state: 'PREVIEW' }),
  })
  t.strictSame(of('FAIL'), ['rows'])
  t.match(finding('rows'), { seen: /ADA has no row at 12:\d\d \(halt\w+\) although it traded/ })
})

// docs/faults.md, 104
t.test('symbolStatus is ignored: FAIL, since a halted symbol is listed as trading', async t => {
  const { of, finding } = await examined(t, {
    alter: (url, answer) => {
      if (!url.includes('symbolStatus')) return answer
      return { ...answer, body: [...(answer.body as unknown[]), { symbol: 'OLDUSDT', price: '1.00000000' }] }
    },
    prepare: simulator => {
      const old = { asset: 'OLD', tradesPerMinute: 5 }
      simulator.list({ id: 'old', price: 1, binance: old })
      simulator.faults.set({ kind: 'halt', exchange: 'binance', market: 'OLDUSDT' })
    },
  })
  t.strictSame(of('FAIL'), ['Binance, streams'])
  t.match(finding('Binance, streams'), { seen: /1 of \d+ that do not trade are: OLDUSDT/ })
})

// docs/faults.md, 104
t.test(
  'one frame of Upbit in seven comes 2.4 to 4 s late: FAIL, with the disorder that was seen',
  async t => {
    const { of, finding } = await examined(t, {
      prepare: ({ faults }) =>
        faults.set({ kind: 'lag', exchange: 'upbit', minMs: 2_400, maxMs: 4_000, share: 0.15 }),
    })
    t.ok(of('FAIL').includes('disorder'))
    t.match(finding('disorder'), {
      seen: /upbit [234]\d{3} ms at most in \d+ frames, 1600 ms are waited for/,
    })
  },
)

t.test('a symbol of Binance is silent: FAIL when its candles have trades', async t => {
  const { of, finding } = await examined(t, {
    prepare: ({ faults }) => faults.set({ kind: 'silence', exchange: 'binance', market: 'DOGEUSDT' }),
  })
  t.strictSame(of('FAIL'), ['rows'])
  t.match(finding('rows'), { seen: /DOGEUSDT is silent although it trades/ })
})

t.test('candles that cannot be had: unknown', async t => {
  const { of, finding } = await examined(t, {
    prepare: ({ faults }) => {
      faults.set({ kind: 'refuse', exchange: 'binance', market: 'LINKUSDT', status: 500, on: 'rest' })
    },
  })
  t.strictSame(of('FAIL'), [])
  t.strictSame(of('unknown'), ['rows'])
  t.match(finding('rows'), { seen: /LINKUSDT has no candle/ })
})

t.test('another name of the group of candles is shown, and no FAIL', async t => {
  const { finding } = await examined(t, {
    alter: (_url, answer) => ({
      ...answer,
      headers: new Headers({ 'remaining-req': 'group=quotation; min=600; sec=9' }),
    }),
  })
  t.match(finding('bases'), { outcome: 'unknown', seen: /group=quotation/ })
})

t.test('candles 40 s late: FAIL', async t => {
  const { of, finding } = await examined(t, {
    prepare: ({ faults }) => faults.set({ kind: 'late-candles', exchange: 'upbit', lateMs: 40_000 }),
  })
  t.strictSame(of('FAIL'), ['candles'])
  t.match(finding('candles'), { seen: /KRW-BTC not there after 10 s/ })
})

t.test('a pair is far off the median: suspect, unless Upbit itself warns of it', async t => {
  const coins = [...MARKET_COINS, ...lie('FAR', 1.2)]
  const suspect = await examined(t, { coins })
  t.strictSame(suspect.of('FAIL'), [])
  t.strictSame(suspect.of('unknown'), ['pairs'])
  t.match(suspect.finding('pairs'), { seen: /The true FAR \(KRW-FAR\) and FARUSDT \d\d\.\d\d % \(suspect\)/ })
  const warned = await examined(t, { coins, alter: warnOf('KRW-FAR') })
  t.strictSame([...warned.of('FAIL'), ...warned.of('unknown')], [])
  t.match(warned.finding('pairs'), { seen: /probably true, Upbit warns of it/ })
})

function warnOf(market: string): NonNullable<Case['alter']> {
  return (url, answer) => {
    if (!url.includes('/v1/market/all')) return answer
    const markets = (answer.body as { market: string }[]).map(entry =>
      entry.market === market
        ? { ...entry, market_event: { warning: false, caution: { GLOBAL_PRICE_DIFFERENCES: true } } }
        : entry,
    )
    return { ...answer, body: markets }
  }
}

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
