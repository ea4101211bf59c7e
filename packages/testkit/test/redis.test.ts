import { existsSync } from 'node:fs'
import { isPortFree } from '@kimchi/local-redis'
import t from 'tap'
import { startRedis } from '../src/redis.ts'

t.test('a private server answers, survives a kill with its data, and leaves nothing behind', async t => {
  let [dir, port] = ['', 0]
  await t.test('a server', async t => {
    const redis = await startRedis(t, { appendonly: true, args: ['--appendfsync', 'always'] })
    dir = redis.dir
    port = redis.port
    t.equal(await redis.client().set('a', '1'), 'OK')
    await redis.kill()
    await redis.restart()
    t.equal(await redis.client().get('a'), '1')
  })
  t.notOk(existsSync(dir))
  t.ok(await isPortFree(port))
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
