import t from 'tap'
import { durationHistogram } from '../src/duration-histogram.ts'
import { MetricsRegistry } from '../src/metrics-registry.ts'

t.test('durations are counted by label and size, and each bucket includes the smaller ones', async t => {
  const took = durationHistogram('took_seconds', 'Took.', ['route'])
  for (const seconds of [0, 0.000015, 0.000017, 0.001, 0.1, 5, 10_000])
    took.observe({ route: 'live' }, seconds)
  took.observe({ route: 'daily' }, 2)
  const metrics = new MetricsRegistry({ app: 'api', version: '1.2.3' })
  metrics.registerMetric(took)
  const lines = (await metrics.metrics()).split('\n')
  for (const [le, count] of [
    ['0.000016', 2],
    ['0.000064', 3],
    ['0.001024', 4],
    ['0.262144', 5],
    ['4.194304', 5],
    ['+Inf', 7],
  ]) {
    const line = `took_seconds_bucket{le="${le}",route="live"} ${count}`
    t.ok(lines.includes(line), line)
  }
  t.ok(lines.includes('took_seconds_count{route="live"} 7'))
  t.ok(lines.includes('took_seconds_sum{route="daily"} 2'))
  t.ok(lines.includes('# TYPE took_seconds histogram'))
})
