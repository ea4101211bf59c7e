import { spawnSync } from 'node:child_process'
import t from 'tap'
import { createMetricsRegistry } from '../src/metrics-registry.ts'

const hasPromtool = spawnSync('promtool', ['--version']).error === undefined

t.test('reads every metric when it is asked, and only then', async t => {
  const metrics = createMetricsRegistry()
  let written = 0
  metrics.counter({ name: 'minutes_total', help: 'Minutes written.', read: () => ++written })
  metrics.gauge({ name: 'depth', help: 'Waiting.', read: async () => 7 })
  t.equal(written, 0)
  t.match(await metrics.text(), /^minutes_total 1$[\s\S]*^depth 7$/m)
  t.match(await metrics.text(), /^minutes_total 2$/m, 'set to what was read, not added up')
})

t.test('a labelled metric has the labels of the last reading only', async t => {
  const metrics = createMetricsRegistry()
  const values: [Record<string, string>, number][] = [
    [{ symbol: 'BTC' }, 1],
    [{ symbol: 'ETH' }, 2],
  ]
  metrics.gauge({ name: 'held', help: 'Held.', labels: ['symbol'], read: () => values })
  t.match(await metrics.text(), /^held\{symbol="BTC"\} 1\nheld\{symbol="ETH"\} 2$/m)
  values.shift()
  t.notMatch(await metrics.text(), /BTC/)
})

t.test('what is not known is not reported', async t => {
  const metrics = createMetricsRegistry()
  let value: number | undefined = 5
  metrics.gauge({ name: 'snapshot', help: 'Newest.', read: () => value })
  await metrics.text()
  value = undefined
  t.notMatch(await metrics.text(), /^snapshot /m)
})

t.test(
  'the metrics of the process are named as Prometheus asks',
  { skip: !hasPromtool && 'no promtool on PATH' },
  async t => {
    const input = await createMetricsRegistry().text()
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input,
      encoding: 'utf8',
    })
    t.equal(`${stdout}${stderr}`, '')
    t.equal(status, 0)
  },
)
