import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chmod, cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createFolder, eventually, startRedis, type TestRedis } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { BTC, openStore, sampleOf, todayMinutes } from './fixtures.ts'

const DOCUMENT = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8')
const USERS = readFileSync(new URL('../../../deploy/redis/users.acl', import.meta.url), 'utf8')

/** Runs shell text in which `redis-cli` reaches this server as an operator. */
async function createShell(t: Test, redis: TestRedis) {
  const folder = await createFolder(t)
  const cli = join(folder, 'redis-cli')
  const login = `-p ${redis.port} --user operator --pass operator --no-auth-warning`
  await writeFile(cli, `#!/bin/sh\nexec '${redis.binary.cli}' ${login} -e "$@"\n`)
  await chmod(cli, 0o755)
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` }
  return async (text: string) => (await promisify(execFile)('sh', ['-ec', text], { env })).stdout
}

async function openOperated(t: Test) {
  const store = await openStore(t, { appendonly: true })
  const { now } = await todayMinutes(store.connection)
  await store.writer.track([BTC])
  await store.writer.announce('a', { version: '1.0.0' })
  await store.writer.write({ minute: now, samples: [sampleOf('BTC', now)] })
  const operator = USERS.split('\n').find(line => line.startsWith('user operator ')) ?? ''
  await store.raw.call('ACL', 'SETUSER', ...operator.split(' ').slice(1))
  return { ...store, now, shell: await createShell(t, store.redis) }
}

t.test('every command of docs/operations.md works for an operator', async t => {
  const { shell } = await openOperated(t)
  const commands = [...DOCUMENT.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
    block.trim().split('\n'),
  )
  t.ok(commands.length > 8)
  for (const command of commands) {
    const printed = await shell(command)
    t.ok(printed.trim() !== '' && !/ERR|NOPERM/.test(printed), `${command}\n${printed.slice(0, 200)}`)
  }
})

t.test('backup and restore, as docs/operations.md tells', async t => {
  const { shell, redis, raw } = await openOperated(t)
  const before = await shell('redis-cli FCALL_RO kp_days 1 {kp}:meta BTC')
  await shell('redis-cli BGREWRITEAOF')
  await eventually('it is compact', async () =>
    /aof_rewrite_in_progress:0/.test(await raw.info('persistence')),
  )
  const restored = await startRedis(t, { appendonly: true })
  await restored.stop()
  await cp(join(redis.dir, 'appendonlydir'), join(restored.dir, 'appendonlydir'), {
    recursive: true,
    force: true,
  })
  await restored.restart()
  const again = restored.client()
  const operator = USERS.split('\n').find(line => line.startsWith('user operator ')) ?? ''
  await again.call('ACL', 'SETUSER', ...operator.split(' ').slice(1))
  const other = await createShell(t, restored)
  t.equal(await other('redis-cli FCALL_RO kp_days 1 {kp}:meta BTC'), before)
  t.match(await other('redis-cli FCALL_RO kp_check 1 {kp}:meta BTC'), / ok 1 samples/)
})
