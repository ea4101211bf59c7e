import { spawnSync } from 'node:child_process'
import { createHistogram } from '@kimchi/runtime'
import t from 'tap'
import { statusFields } from '../src/figures.ts'
import { createMetrics } from '../src/metrics.ts'
import type { IngesterStatus } from '../src/status.ts'
import { NOW, statusWith } from './support/ingester-status.ts'

const waits = createHistogram('kimchi_ingester_watermark_wait_seconds', 'Waits.')
for (const seconds of [0.1, 2.5]) waits.observe(seconds)

const { minutes, queue, backfill, ...others } = statusWith({ malformed: 1, watermark: NOW - 2_000 })
const STATUS: IngesterStatus = {
  ...others,
  heldBack: [
    { symbol: 'A', reason: 'halted', text: 'an exchange has halted it' },
    { symbol: 'B', reason: 'halted', text: 'as well' },
  ],
  minutes: { ...minutes, gaps: { 'upbit-down': 4 }, waits },
  queue: { ...queue, waiting: 5, totals: { ...queue.totals, stored: 95 } },
  backfill: {
    ...backfill,
    ...{ open: 9, stored: 50, settled: 6, refused: 0 },
    drift: { compared: 10, medianE4: 70, worst: { symbol: 'BTC', minute: 29_000_000, e4: 300 } },
  },
}

const HEALTH = { latencyMs: 0.25, memoryUsed: 1_000, memoryMax: 4_000 }

const metricsOf = (health: typeof HEALTH | undefined) =>
  createMetrics({
    version: 'test',
    status: () => STATUS,
    redisHealth: async () => health,
  }).metrics()

t.test('reports the status of all parts as Prometheus metrics', async t => {
  const lines = (await metricsOf(HEALTH)).split('\n')
  for (const line of [
    'kimchi_ingester_held_back_coins{reason="halted"} 2',
    'kimchi_ingester_watermark_age_seconds{exchange="binance"} 2',
    'kimchi_ingester_watermark_wait_seconds_bucket{le="0.262144"} 1',
    'kimchi_ingester_watermark_wait_seconds_sum 2.6',
    'kimchi_ingester_redis_latency_seconds 0.00025',
    'kimchi_ingester_redis_memory_used_bytes 1000',
    'kimchi_ingester_redis_memory_max_bytes 4000',
    'kimchi_ingester_malformed_total{exchange="binance"} 1',
    'kimchi_ingester_waiting_minutes 5',
    'kimchi_ingester_decided_minutes_total{outcome="settled"} 6',
    'kimchi_ingester_drift_median_ratio 0.00007',
  ]) {
    t.ok(lines.includes(line), line)
  }
})

t.test('nothing is reported of a Redis that does not answer', async t => {
  t.notMatch(await metricsOf(undefined), /^kimchi_ingester_redis_(latency|memory)\S* \d/m)
})

t.test('a figure has the same name in the status hash and as a metric', async t => {
  const lines = (await metricsOf(HEALTH)).split('\n')
  const fields = statusFields(STATUS)
  for (const [field, line] of [
    ['open_minutes', 'kimchi_ingester_open_minutes 9'],
    ['gaps_upbit-down', 'kimchi_ingester_gaps_total{reason="upbit-down"} 4'],
    ['binance_silences', 'kimchi_ingester_silences_total{exchange="binance"} 1'],
    ['redis_writes_stored', 'kimchi_ingester_redis_writes_total{outcome="stored"} 95'],
  ] as const) {
    t.equal(fields[field], line.split(' ').at(-1), field)
    t.ok(lines.includes(line), line)
  }
  t.match(fields, {
    binance_watermark_age_ms: '2000',
    held_back: 'A (halted: an exchange has halted it); B (halted: as well)',
    drift_median_e4: '70',
  })
})

t.test('Redis is asked once for all gauges of a scrape, and again for the next', async t => {
  let asked = 0
  const redisHealth = async () => {
    asked += 1
    return { ...HEALTH, memoryUsed: asked }
  }
  const metrics = createMetrics({ version: 'test', status: () => STATUS, redisHealth })
  for (const scrape of [1, 2]) {
    t.match(await metrics.metrics(), `kimchi_ingester_redis_memory_used_bytes ${scrape}`)
    t.equal(asked, scrape)
  }
})

const hasPromtool = spawnSync('promtool', ['--version']).error === undefined

t.test(
  'promtool check metrics finds no problem',
  { skip: !hasPromtool && 'no promtool on PATH' },
  async t => {
    const input = await metricsOf(HEALTH)
    const { stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' })
    // A minute of a coin is a thing that is counted, which promtool reads as a unit of time.
    const complaints = `${stdout}${stderr}`
      .split('\n')
      .filter(line => !/"seconds" instead of "minutes"/.test(line))
    t.strictSame(complaints, [''])
  },
)
