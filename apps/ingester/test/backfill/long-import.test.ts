import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'

const DRIVER = new URL('../support/long-import.ts', import.meta.url).pathname

// docs/faults.md, 62
t.test('an import of any length runs in bounded memory', async t => {
  const args = ['--max-old-space-size=60', ...process.execArgv, DRIVER, '16', '3650']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  child.stdout.on('data', text => {
    output += text
  })
  const [code] = await once(child, 'exit')
  t.equal(code, 0)
  t.match(output, /stored [1-9]\d* days, 0 skipped, heap \d+ MB/)
  t.comment(output.trim())
})
