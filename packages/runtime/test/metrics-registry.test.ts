import t from 'tap'
import { createHistogram, MetricsRegistry } from '../src/metrics-registry.ts'

const BUILD = { app: 'api', version: '1.2.3' }

t.test('reads every metric when it is asked, and only then', async t => {
  const metrics = new MetricsRegistry(BUILD)
  let written = 0
  metrics.add('counter', { name: 'minutes_total', help: 'Minutes written.', read: () => ++written })
  metrics.add('gauge', { name: 'depth', help: 'Waiting.', read: async () => 7 })
  t.equal(written, 0)
  t.match(await metrics.metrics(), /^minutes_total 1$[\s\S]*^depth 7$/m)
  t.match(await metrics.metrics(), /^minutes_total 2$/m, 'set to what was read, not added up')
})

t.test('a labelled metric has the labels of the last reading only', async t => {
  const metrics = new MetricsRegistry(BUILD)
  const values: [Record<string, string>, number][] = [
    [{ symbol: 'BTC' }, 1],
    [{ symbol: 'ETH' }, 2],
  ]
  metrics.add('gauge', { name: 'held', help: 'Held.', read: () => values })
  t.match(await metrics.metrics(), /^held\{symbol="BTC"\} 1\nheld\{symbol="ETH"\} 2$/m)
  values.shift()
  t.notMatch(await metrics.metrics(), /BTC/)
})

t.test('a metric without a value is not reported', async t => {
  const metrics = new MetricsRegistry(BUILD)
  let value: number | undefined = 5
  metrics.add('gauge', { name: 'snapshot', help: 'Newest.', read: () => value })
  await metrics.metrics()
  value = undefined
  t.notMatch(await metrics.metrics(), /^snapshot /m)
})

t.test('kimchi_build_info says what runs', async t => {
  const text = await new MetricsRegistry(BUILD).metrics()
  const { node } = process.versions
  t.ok(text.includes(`\nkimchi_build_info{app="api",version="1.2.3",node="${node}"} 1\n`))
})

t.test('durations are counted by size, from 16 µs to 4.2 s', async t => {
  const took = createHistogram('took_seconds', 'Took.')
  took.observe(0.000017)
  const metrics = new MetricsRegistry(BUILD)
  metrics.registerMetric(took)
  const counts = Object.entries({ '0.000016': 0, '0.000064': 1, '4.194304': 1 })
  for (const [le, count] of counts)
    t.match(await metrics.metrics(), `\ntook_seconds_bucket{le="${le}"} ${count}\n`)
})
