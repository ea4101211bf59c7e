import { KimchiError } from '@kimchi/core'
import t from 'tap'
import { CHECKS } from '../../src/doctor/examine.ts'
import type { WatchedStream } from '../../src/doctor/watched-stream.ts'
import { emptyWorld } from '../../src/doctor/world.ts'

t.test(
  'a connection that the doctor itself closes too early is unknown, one that the exchange closes FAIL',
  async t => {
    const outcomes = (error: KimchiError | undefined) => {
      const state = { openedAt: 1, ending: { error } }
      const stream = { openFor: () => 10_000, connection: { state } } as unknown as WatchedStream
      const world = { ...emptyWorld(), idle: stream, binance: stream }
      const checks = CHECKS.filter(({ check }) => /a quiet connection|pings/.test(check))
      return checks.map(({ judge }) => judge(world).outcome)
    }
    t.strictSame(outcomes(undefined), ['unknown', 'unknown'])
    t.strictSame(outcomes(new KimchiError('KIMCHI_ERR_FEED_REFUSED', 'closed with code 1001')), [
      'FAIL',
      'FAIL',
    ])
  },
)
