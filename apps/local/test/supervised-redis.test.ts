import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { Ports } from '../src/ports.ts'
import { openSupervisedRedis } from '../src/supervised-redis.ts'

t.test('a port that another stack takes after it was picked is replaced by a free one', async t => {
  const other = createServer().listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await once(other, 'listening')
  const { port: taken } = other.address() as { port: number }
  class LatePorts extends Ports {
    picks = 0
    override async pick() {
      this.picks += 1
      return this.picks === 1 ? taken : super.pick('Redis', taken)
    }
  }
  const redis = await openSupervisedRedis({
    dir: t.testdir({}),
    path: process.env.PATH ?? '',
    ports: new LatePorts(),
    say: () => {},
    onFailure: () => t.fail('Redis could not be started again'),
    wait: delay,
  })
  t.teardown(() => redis.close())
  t.not(new URL(redis.url).port, String(taken))
})
