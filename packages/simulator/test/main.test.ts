import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url))

t.test('ends when its parent is gone', async t => {
  const child = spawn(process.execPath, [MAIN], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  t.strictSame(await once(child, 'message'), [{ started: true }, undefined])
  child.disconnect()
  t.strictSame(await once(child, 'exit'), [0, null])
})
