import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createFolder, eventually, startRedis, type TestRedis } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import type { RedisConnection } from '../src/redis/connect.ts'
import { isRetryable } from '../src/redis/redis-error.ts'
import { BTC, connected, connectedAs, openStore, sampleOf } from './fixtures.ts'

const DOCUMENT = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8')
/** The name that the document gives to any coin. */
const SYMBOL = { ...BTC, symbol: 'SYMBOL', name: 'A wrong one' }
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
  const store = await openStore(t, { appendonly: true, coins: [BTC, SYMBOL] })
  const { now } = store
  await store.writer.announce('2c68b6edbd43:6:0a7c', { version: '1.0.0' })
  const settled = [{ symbol: 'SYMBOL', minute: now - 1_441, reason: 'no-rate' }] as const
  await store.writer.write({ minute: now - 1_440, samples: [], settled })
  for (const minute of [now - 1_440, now]) {
    const samples = ['BTC', 'SYMBOL'].map(symbol => sampleOf(symbol, minute))
    await store.writer.write({ minute, samples })
  }
  await store.writer.markImported('SYMBOL', ['2020-01-02'])
  await connectedAs(t, store.redis, 'operator')
  return { ...store, shell: await createShell(t, store.redis) }
}

/** The commands at redis-cli of the document, or of the section of that heading. */
function readCommands(heading = ''): readonly string[] {
  const text = heading === '' ? DOCUMENT : (DOCUMENT.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '')
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)]
  return blocks
    .flatMap(([, block = '']) => block.trim().split('\n'))
    .filter(command => command.startsWith('redis-cli '))
}

t.test('every command of docs/operations.md works for an operator', async t => {
  const { shell } = await openOperated(t)
  // Something for ACL LOG and SLOWLOG to show.
  await shell('redis-cli FLUSHALL || true; redis-cli CONFIG SET slowlog-log-slower-than 0')
  // The users of this server are in no file: that one has a test of its own, below.
  const commands = readCommands().filter(command => command !== 'redis-cli ACL LOAD')
  t.ok(commands.length > 8)
  for (const command of commands) {
    const printed = await shell(command)
    t.ok(printed.trim() !== '' && !/^(ERR|NOPERM) /m.test(printed), `${command}\n${printed.slice(0, 200)}`)
  }
})

t.test('a coin is removed with all its history, and the API reads its days again', async t => {
  const { shell, raw, reader, writer, now } = await openOperated(t)
  const keysOf = async () => [...(await raw.keys('{kp}:*:SYMBOL')), ...(await raw.keys('{kp}:*:SYMBOL:*'))]
  t.equal((await keysOf()).length, 5, 'days, imported days, two hours of samples, one with a settled minute')
  const before = (await reader.readBoard()).revisions
  for (const command of readCommands('A wrong pair is published')) await shell(command)
  t.strictSame(await keysOf(), [])
  const board = await reader.readBoard()
  t.strictSame(
    board.rows.map(row => row.symbol),
    ['BTC'],
  )
  t.strictSame((await reader.readDays('SYMBOL')).entries, [])
  t.ok(Number(board.revisions.get('SYMBOL')) > Number(before.get('SYMBOL')), 'its days are read again')
  t.equal(board.revisions.get('BTC'), before.get('BTC'))
  await writer.write({ minute: now + 1, samples: [sampleOf('SYMBOL', now + 1)] })
  t.match((await reader.readDays('SYMBOL')).entries, [{ samples: 1 }], 'nothing of before is folded in')
})

t.test('a password is rotated while Redis runs, and both are good meanwhile', async t => {
  const file = join(await createFolder(t), 'users.acl')
  // The server of a test is asked without a user whether it is up.
  const users = USERS.replace(/^user default .*$/m, 'user default on nopass -@all +ping +info')
  await writeFile(file, users)
  const redis = await startRedis(t, { appendonly: true, args: ['--aclfile', file] })
  const as = (password: string) => ({ ...redis, url: redis.url.replace('//', `//ingester:${password}@`) })
  const old = await connected(t, as('ingester'))
  await old.call('HSET', '{kp}:meta', 'layout', 1)
  const shell = await createShell(t, redis)
  const [load = ''] = readCommands('Rotating passwords')
  await writeFile(file, users.replace('>ingester ', '>ingester >second '))
  t.match(await shell(load), 'OK')
  // Redis closes the connections of users that have changed, maybe while a command is on its way.
  const layout = (redis: RedisConnection) =>
    eventually('an answer', () => redis.call('HGET', '{kp}:meta', 'layout').catch(() => undefined))
  t.equal(await layout(old), '1', 'the apps that run go on')
  const next = await connected(t, as('second'))
  await writeFile(file, (await readFile(file, 'utf8')).replace('>ingester ', ''))
  await shell(load)
  t.equal(await layout(next), '1')
  await t.rejects(next.call('AUTH', 'ingester', 'ingester'), { message: /WRONGPASS/ })
})

// docs/faults.md, 9
t.test('kp_status says why Redis refuses writes, and calls nobody gone who may be refused', async t => {
  const { writer, raw, ask, redis, now } = await openStore(t, { coins: [BTC] })
  for (const id of ['a', 'b']) await writer.announce(id, { version: '1' })
  await raw.del('{kp}:ingester:a')
  const write = () => writer.write({ minute: now, samples: [sampleOf('BTC', now)] })
  const expectRefusal = async (message: RegExp, said: RegExp) => {
    const refusal: Error = await write().catch(error => error)
    t.match(refusal, { message })
    t.ok(isRetryable(refusal), 'an ingester waits it out')
    const lines = await ask('kp_status')
    t.match(
      lines.find(line => line.startsWith('redis ')),
      said,
    )
    t.match(
      lines.filter(line => line.startsWith('ingester ')),
      [/^ingester a heard \d s ago gone, or refused: see its \/ready$/, /version 1/],
    )
  }
  t.match((await ask('kp_status')).join('\n'), /^redis .*accepts writes/m)
  await raw.config('SET', 'maxmemory', '1mb')
  await expectRefusal(/OOM/, /REFUSES writes: its memory is full, \d+ of 1 MB, .*: 1 OOM$/)
  await raw.config('SET', 'maxmemory', '0')
  await raw.config('SET', 'min-replicas-to-write', '1')
  await expectRefusal(/NOREPLICAS/, /REFUSES writes: it reaches no replica, /)
  await raw.config('SET', 'min-replicas-to-write', '0')
  await raw.config('SET', 'save', '3600 1')
  await mkdir(join(redis.dir, 'dump.rdb'))
  await raw.call('BGSAVE')
  await eventually('the save has failed', async () =>
    /rdb_last_bgsave_status:err/.test(await raw.info('persistence')),
  )
  await expectRefusal(/MISCONF/, /REFUSES writes: its last save failed, /)
  await rm(join(redis.dir, 'dump.rdb'), { recursive: true })
  await raw.call('BGSAVE')
  await eventually('the save is done', async () =>
    /rdb_last_bgsave_status:ok/.test(await raw.info('persistence')),
  )
  await raw.call('CONFIG', 'RESETSTAT')
  await raw.call('ACL', 'SETUSER', 'default', '-zadd')
  await expectRefusal(/NOPERM/, /accepts writes, .* refused since its start: 1 NOPERM$/)
})
