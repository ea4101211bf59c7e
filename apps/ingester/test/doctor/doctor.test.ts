import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { MINUTE_MS } from '@kimchi/core'
import { createManualClock } from '@kimchi/core/testing'
import { openRestChild, parseUpbitMarkets } from '@kimchi/feeds'
import { type SimulatedCoin, type Simulator, type SimulatorOptions, startSimulator } from '@kimchi/simulator'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config.ts'
import { examine } from '../../src/doctor/examine.ts'
import { type Finding, lineOf } from '../../src/doctor/finding.ts'
import type { DoctorOptions } from '../../src/doctor/instruments.ts'
import { openRecorder, type Recorder } from '../../src/doctor/recorder.ts'
import { silent } from '../support/backfill-bench.ts'
import { lie, MARKET_COINS } from '../support/market.ts'

const ENTRY = new URL('../../../../packages/feeds/dist/rest/child.js', import.meta.url)
const STEP_MS = 250

interface Case {
  readonly coins?: SimulatorOptions['coins']
  readonly env?: (simulator: Simulator) => Record<string, string>
  readonly recorder?: Recorder
  readonly prepare?: (simulator: Simulator) => unknown
}

/** The doctor before a real simulator, on a clock that stands still while handshakes and REST answers are under way. */
async function examined(t: Test, { coins = MARKET_COINS, env, recorder, prepare }: Case = {}) {
  const clock = createManualClock(Date.UTC(2026, 10, 20, 12, 0, 30))
  const simulator = await startSimulator({
    clock: { now: () => clock.now(), every: () => () => {} },
    pumpMs: 0,
    coins,
  })
  t.teardown(() => simulator.close())
  prepare?.(simulator)
  let asking = 0
  const openRest: DoctorOptions['openRest'] = bases => {
    const rest = openRestChild({ bases, entry: ENTRY }, { log: silent })
    const counted = async <T>(answer: Promise<T>) => {
      asking += 1
      return answer.finally(() => {
        asking -= 1
      })
    }
    return {
      candlePage: (range, signal) => counted(rest.candlePage(range, signal)),
      fetchTrading: signal => counted(rest.fetchTrading(signal)),
      close: () => rest.close(),
    }
  }
  const config = readConfig({
    COINS: 'all',
    UPBIT_WS_URL: simulator.upbitWsUrl,
    UPBIT_REST_URL: simulator.upbitRestUrl,
    BINANCE_WS_URL: simulator.binanceWsUrl,
    BINANCE_REST_URL: simulator.binanceRestUrl,
    ...env?.(simulator),
  })
  const startedAt = clock.now()
  let progress = ''
  let isOver = false
  const examining = examine(
    {
      config,
      userAgent: 'test',
      recorder: recorder ?? openRecorder(undefined),
      onProgress: text => {
        progress = text
      },
      openRest,
    },
    { clock, random: () => 0.5, log: silent },
  ).finally(() => {
    isOver = true
  })
  let isOpen = false
  while (!isOver) {
    await delay(1)
    isOpen ||= simulator.connections('upbit') === 3
    if (asking > 0 || !isOpen || !progress.startsWith('watching')) continue
    simulator.pump()
    await clock.advance(STEP_MS)
  }
  const findings = await examining
  for (const finding of findings) t.comment(lineOf(finding))
  t.ok(clock.now() - startedAt <= 3 * MINUTE_MS, `took ${(clock.now() - startedAt) / 1_000} s`)
  const outcomes = (outcome: Finding['outcome']) =>
    findings.filter(finding => finding.outcome === outcome).map(({ check }) => check)
  const finding = (check: string) => findings.find(candidate => candidate.check === check)
  return { findings, outcomes, finding, simulator }
}

t.test('all well: every line says ok', async t => {
  const { outcomes, findings } = await examined(t)
  t.strictSame(outcomes('FAIL'), [])
  t.strictSame(outcomes('unknown'), [])
  t.equal(findings.length, 28)
  t.ok(findings.every(finding => lineOf(finding).startsWith('ok ')))
})

t.test(
  'a region that is refused: FAIL, what to do, and nothing is said of what could not be seen',
  async t => {
    const { outcomes, finding } = await examined(t, {
      prepare: ({ faults }) => faults.set({ kind: 'refuse', exchange: 'binance', status: 451 }),
    })
    t.strictSame(outcomes('FAIL'), ['a base of BINANCE_REST_URL', 'a base of BINANCE_WS_URL', 'lists'])
    t.match(finding('a base of BINANCE_WS_URL'), { seen: /HTTP 451/, advice: /set BINANCE_WS_URL/ })
    t.match(finding('Binance, miniTicker'), { outcome: 'unknown', advice: 'See the bases above.' })
    t.match(finding('a base of UPBIT_WS_URL'), { outcome: 'ok' })
  },
)

t.test('one base of two answers: ok, with what the other said', async t => {
  const gone = await startSimulator()
  await gone.close()
  const { outcomes, finding } = await examined(t, {
    env: ({ binanceRestUrl }) => ({ BINANCE_REST_URL: `${gone.url},${binanceRestUrl}` }),
  })
  t.strictSame(outcomes('FAIL'), [])
  t.match(finding('a base of BINANCE_REST_URL'), { outcome: 'ok', seen: /ECONNREFUSED.*in use: http/s })
})

t.test('a subscription sent again brings no SNAPSHOTs: FAIL', async t => {
  const { outcomes, finding } = await examined(t, {
    prepare: ({ faults }) => faults.set({ kind: 'ignore', exchange: 'upbit', what: 'resubscription' }),
  })
  t.strictSame(outcomes('FAIL'), ['Upbit, the same subscription sent again'])
  t.match(finding('Upbit, the same subscription sent again'), { seen: '9 at first, then 0, 0, 0' })
})

t.test('the format is ignored: FAIL, and everything else is seen all the same', async t => {
  const { outcomes, finding } = await examined(t, {
    prepare: ({ faults }) => faults.set({ kind: 'ignore', exchange: 'upbit', what: 'format' }),
  })
  t.strictSame(outcomes('FAIL'), ['Upbit, format'])
  t.match(finding('Upbit, format'), { seen: /^0 in SIMPLE, \d+ in DEFAULT$/ })
})

t.test('candles 40 s late: FAIL, later than was watched', async t => {
  const { outcomes, finding } = await examined(t, {
    prepare: ({ faults }) => faults.set({ kind: 'late-candles', exchange: 'upbit', lateMs: 40_000 }),
  })
  t.strictSame(outcomes('FAIL'), ["Upbit's candles, when"])
  t.match(finding("Upbit's candles, when"), { seen: /KRW-BTC later than \d+\.\d s/ })
})

t.test('one alias is wrong: unknown, with both names, for a person to look', async t => {
  const [upbit, binance] = lie('BTT', 1.2)
  const wrong = { ...binance, binance: { base: 'BTTC', tradesPerMinute: 5 } } as SimulatedCoin
  const { outcomes, finding } = await examined(t, { coins: [...MARKET_COINS, upbit as SimulatedCoin, wrong] })
  t.strictSame(outcomes('FAIL'), [])
  t.strictSame(outcomes('unknown'), ['catalogue'])
  t.match(finding('catalogue'), { seen: /off: The true BTT \(KRW-BTT\) and BTTC \(BTTCUSDT\) \d\d\.\d\d %$/ })
})

t.test('a symbol of Binance is silent although it trades: FAIL, by its candles', async t => {
  const { outcomes, finding } = await examined(t, {
    prepare: ({ faults }) => faults.set({ kind: 'silence', exchange: 'binance', market: 'DOGEUSDT' }),
  })
  t.strictSame(outcomes('FAIL'), ['Binance, miniTicker'])
  t.match(finding('Binance, miniTicker'), { seen: '7 of 8; silent although they traded: DOGEUSDT' })
})

t.test('--record: frames and answers in files that tests can read', async t => {
  const folder = t.testdir()
  const recorder = openRecorder(folder)
  await examined(t, { recorder })
  await recorder.close()
  const linesOf = (name: string) => readFileSync(join(folder, name), 'utf8').trim().split('\n')
  for (const name of ['upbit-ws', 'binance-ws']) {
    const lines = linesOf(`${name}.jsonl`).map(line => JSON.parse(line))
    t.ok(lines.length > 100)
    t.ok(lines.every(({ recv, payload }) => recv > 1e9 && JSON.parse(payload)))
  }
  t.ok(parseUpbitMarkets(JSON.parse(linesOf('upbit-market-all.json').join())).markets.length > 5)
})
