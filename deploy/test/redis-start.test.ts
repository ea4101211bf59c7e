import { spawn } from 'node:child_process'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { followProgram, startRedis } from '@kimchi/testkit'
import t from 'tap'

const START = fileURLToPath(new URL('../redis-start/start.sh', import.meta.url))
const SHIPPED = fileURLToPath(new URL('../redis/users.acl', import.meta.url))
const { PATH = '' } = process.env

const refused = [
  'off resetpass resetkeys resetchannels -@all',
  'off ~* &* +@all -@write',
  'off ~* nocommands',
  'on nopass allkeys allcommands -hset',
  'off +@all',
  'off ~* +@all resetkeys ~{kp}:*',
  'off ~* +@read +@write',
]
const accepted = ['off resetpass ~* &* +@all', 'off -@all allkeys allcommands', 'on >secret +@all ~*']

// docs/faults.md, 108
t.test(
  'Redis refuses users who would let it forget its append-only file, and starts with others',
  async t => {
    const redis = await startRedis(t)
    await redis.stop()
    const lines = [...refused, ...accepted]
    const files = lines.map((line, index) => [
      `${index}.acl`,
      `user default ${line}\nuser health on nopass -@all +ping\n`,
    ])
    const dir = t.testdir({
      'valkey-server': `#!/bin/sh\nexec ${redis.binary.server} "$@"\n`,
      ...Object.fromEntries(files),
    })
    await chmod(join(dir, 'valkey-server'), 0o755)
    const fileOf = (line: string) => join(dir, `${lines.indexOf(line)}.acl`)
    const starts = (users: string) => {
      const args = [
        '--port',
        `${redis.port}`,
        '--bind',
        '127.0.0.1',
        '--dir',
        redis.dir,
        '--appendonly',
        'yes',
      ]
      const child = spawn(START, [users, ...args], { env: { PATH: `${dir}:${PATH}` } })
      return followProgram(child, 'start.sh')
    }
    for (const line of refused) {
      const program = starts(fileOf(line))
      t.equal(await program.ended, 1, line)
      t.equal(program.lines.at(-1), 'user default off resetpass ~* &* +@all', 'and says which line helps')
    }
    for (const users of [SHIPPED, ...accepted.map(fileOf)]) {
      const program = starts(users)
      await program.line(line => line.includes('Ready to accept connections'))
      await program.end('SIGKILL')
    }
  },
)
