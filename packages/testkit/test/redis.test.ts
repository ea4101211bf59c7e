import { existsSync } from 'node:fs'
import { isPortFree } from '@kimchi/local-redis'
import t from 'tap'
import { startRedis } from '../src/redis.ts'

t.test('a private server answers, survives a kill with its data, and leaves nothing behind', async t => {
  const redis = await startRedis(undefined, { appendonly: true, args: ['--appendfsync', 'always'] })
  const client = redis.client()
  t.equal(await client.set('a', '1'), 'OK')
  await redis.kill()
  await redis.restart()
  const again = redis.client()
  t.equal(await again.get('a'), '1')
  await redis.close()
  t.notOk(existsSync(redis.dir))
  t.ok(await isPortFree(redis.port))
})

t.test('a frozen server does not answer until it is resumed', async t => {
  const redis = await startRedis(t)
  const client = redis.client({ commandTimeout: 200 })
  await client.ping()
  redis.pause()
  await t.rejects(client.ping(), { message: /timed out/ })
  redis.resume()
  t.equal(await redis.client().ping(), 'PONG')
})
