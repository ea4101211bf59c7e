import t from 'tap'
import { startProgram } from '../src/program.ts'

t.test('a program’s lines can be waited for, before and after they are printed', async t => {
  const script = 'console.log("one"); console.error("two"); setInterval(() => {}, 1000)'
  const program = startProgram(t, ['-e', script])
  t.equal(await program.line(line => line === 'two'), 'two')
  t.equal(await program.line(line => line === 'one'), 'one')
  t.equal(await program.end(), 'SIGTERM')
  t.equal(await program.end(), 'SIGTERM', 'again')
  await t.rejects(
    program.line(line => line === 'three'),
    { message: /ended \(SIGTERM\) before that line:\none/ },
  )
})

t.test('a program has only the environment it is given', async t => {
  const program = startProgram(t, ['-p', '[process.env.A, process.env.HOME].join()'], { A: 'b' })
  t.equal(await program.line(() => true), 'b,')
  t.equal(await program.ended, 0)
})
