import t from 'tap'
import { startProgram } from '../src/program.ts'
import { withTeardown } from '../src/teardown.ts'

t.test('what a run has started ends with it, the newest first, also where it fails', async t => {
  const ended: string[] = []
  const run = withTeardown(async t => {
    for (const name of ['first', 'second']) t.teardown(() => ended.push(name))
    throw new Error('a failure')
  })
  await t.rejects(run, { message: 'a failure' })
  t.strictSame(ended, ['second', 'first'])
})

t.test('a signal ends what a run has started, and the process', async t => {
  const script = `
    import { withTeardown } from '@kimchi/testkit'
    await withTeardown(async t => {
      t.teardown(() => console.log('ended'))
      console.log('running')
      await new Promise(resolve => setTimeout(resolve, 60_000))
    })`
  const program = startProgram(t, ['--input-type=module', '-e', script], {}, { cwd: import.meta.dirname })
  await program.line(line => line === 'running')
  t.equal(await program.end('SIGTERM'), 130)
  t.equal(program.lines.at(-1), 'ended')
})
