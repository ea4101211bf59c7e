import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { startEmbeddedRedis } from '../src/embedded-redis.ts'
import { probePort } from '../src/port.ts'
import { projectRedis } from '../src/project-redis.ts'

const binary = await projectRedis()

t.test('a server that does not start is an error with its own words, such as on a taken port', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await t.rejects(startEmbeddedRedis({ binary, dir: t.testdir({}), port }), {
    code: 'KIMCHI_ERR_REDIS',
    message: /could not be started \(exit code 1\):[\s\S]*Address already in use/,
  })
})

t.test('a server that is still loading ends with its signal', async t => {
  const dir = t.testdir({ 'redis-server': '#!/bin/sh\nexec sleep 60\n' })
  const server = join(dir, 'redis-server')
  await chmod(server, 0o755)
  const signal = AbortSignal.timeout(100)
  await t.rejects(startEmbeddedRedis({ binary: { server, cli: undefined }, dir, signal }), {
    message: /could not be started \(SIGTERM\)/,
  })
})

t.test('a data folder serves one server at a time and is free again after it', async t => {
  const dir = t.testdir({})
  const first = await startEmbeddedRedis({ binary, dir })
  await t.rejects(startEmbeddedRedis({ binary, dir }), {
    code: 'KIMCHI_ERR_REDIS',
    message: /is in use by another Redis server \(process \d+, port \d+\)/,
  })
  t.strictSame(await Promise.all([first.stop(), first.stop()]), [
    { code: 0, signal: null },
    { code: 0, signal: null },
  ])
  const second = await startEmbeddedRedis({ binary, dir })
  second.kill('SIGKILL')
  t.match(await second.exited, { signal: 'SIGKILL' })
  const third = await startEmbeddedRedis({ binary, dir, port: second.port })
  await third.stop()
})

t.test('a server that ends at once, or is none, is reported with its reason, however soon', async t => {
  const dir = t.testdir({ server: '#!/bin/sh\necho "the reason" >&2\nexit 3\n', data: {} })
  await chmod(join(dir, 'server'), 0o755)
  const binary = { server: join(dir, 'server'), cli: undefined }
  for (let times = 0; times < 20; times += 1) {
    await t.rejects(startEmbeddedRedis({ binary, dir: join(dir, 'data') }), {
      code: 'KIMCHI_ERR_REDIS',
      message: /could not be started \(exit code 3\):[\s\S]*the reason/,
    })
  }
  const nothing = { server: '/nowhere', cli: undefined }
  await t.rejects(startEmbeddedRedis({ binary: nothing, dir: t.testdir({}) }), { code: 'ENOENT' })
})

t.test('a server ends when its starter is SIGKILLed, even a frozen one', async t => {
  const script = `
    import { startEmbeddedRedis } from '@kimchi/local-redis'
    const redis = await startEmbeddedRedis(${JSON.stringify({ binary, dir: t.testdir({}) })})
    redis.kill('SIGSTOP')
    console.log(redis.port)`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: new URL('../..', import.meta.url),
    env: { PATH: process.env.PATH },
  })
  const [line] = await once(parent.stdout, 'data')
  const port = Number(String(line))
  const isTaken = () =>
    probePort({ host: '127.0.0.1', port }).then(
      () => false,
      () => true,
    )
  t.ok(await isTaken(), 'running')
  parent.kill('SIGKILL')
  while (await isTaken()) await wait(20)
  t.pass('gone')
})
