import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { LOG_LEVELS } from '../src/logger.ts'

const FIXTURE = fileURLToPath(new URL('fixtures/log.mjs', import.meta.url))

async function lines(level: string): Promise<Record<string, unknown>[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [FIXTURE, level], {
    env: { TZ: 'Asia/Seoul' },
  })
  return stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Record<string, unknown>)
}

t.test('writes one JSON object a line with an ISO time in UTC, the level as a word and its name', async t => {
  const before = new Date().toISOString()
  const logged = await lines('trace')
  t.strictSame(
    logged.map(({ level }) => level),
    LOG_LEVELS.filter(level => level !== 'silent'),
  )
  for (const { time, name, msg, market } of logged) {
    t.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    t.ok(before <= String(time) && String(time) <= new Date().toISOString())
    t.match({ name, msg, market }, { name: 'ingester', msg: 'feed is up', market: 'KRW-BTC' })
  }
})

t.test('prints an error with code, stack and cause, and a message that says each thing once', async t => {
  const [line] = await lines('error')
  const err = { code: 'KIMCHI_ERR_REST', message: /^no answer \(socket hang up\)$/, stack: /log\.mjs/ }
  t.match(line, { err: { ...err, cause: { message: 'socket hang up' } } })
})
