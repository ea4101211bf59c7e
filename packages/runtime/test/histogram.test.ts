import t from 'tap'
import { Histogram } from '../src/histogram.ts'
import { MetricsRegistry } from '../src/metrics-registry.ts'

t.test(
  'durations are counted by size and apart by labels; each bucket includes the smaller ones',
  async t => {
    const took = new Histogram('took_seconds', 'Took.')
    const live = took.labelled({ route: 'live' })
    for (const seconds of [0, 0.000015, 0.000017, 0.001, 0.1, 5, 10_000]) live.observe(seconds)
    for (const seconds of [2, 3]) took.labelled({}).observe(seconds)
    const metrics = new MetricsRegistry({ app: 'api', version: '1.2.3' })
    metrics.add('histogram', took)
    const text = await metrics.metrics()
    const lines = text.split('\n')
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
    t.match(text, /^took_seconds_sum 5\ntook_seconds_count 2$/m)
    t.match(text, /^took_seconds_sum\{route="live"\} 10005\.101032\ntook_seconds_count\{route="live"\} 7$/m)
    t.ok(lines.includes('# TYPE took_seconds histogram'))
  },
)
