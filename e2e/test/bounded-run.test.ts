import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createFolder, eventually, startProgram, type Teardown } from '@kimchi/testkit'
import t from 'tap'
import { runWithin } from '../src/bounded-run.ts'

const never = new AbortController().signal

/** A program that starts another one, writes its process id to a file, and waits for it. */
async function parentOfMany(t: Teardown) {
  const file = join(await createFolder(t), 'pid')
  const shell = `sleep 1000 & echo $! > ${file}.new && mv ${file}.new ${file} && wait`
  const program = `require('node:child_process').execSync('${shell}')`
  const hasBegun = () => eventually('the program runs', () => existsSync(file))
  const hasEnded = () =>
    eventually('its child ends', () => !existsSync(file) || !isRunning(Number(readFileSync(file))))
  return { args: ['-e', program], hasBegun, hasEnded }
}

/** Whether a process is there, and not only its status. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

t.test('a program that passes or fails', async t => {
  t.equal(await runWithin(60_000, never, ['-e', '']), 'passed')
  t.equal(await runWithin(60_000, never, ['-e', 'process.exit(2)']), 'failed')
})

t.test('a program that takes too long has neither passed nor failed, and nothing of it goes on', async t => {
  const { args, hasEnded } = await parentOfMany(t)
  t.equal(await runWithin(2_000, never, args), 'timed out')
  await hasEnded()
})

t.test('told to end, a program ends with all that it has started', async t => {
  const { args, hasBegun, hasEnded } = await parentOfMany(t)
  const ending = new AbortController()
  const run = runWithin(60_000, ending.signal, args)
  await hasBegun()
  ending.abort()
  await t.rejects(run, { name: 'AbortError' })
  await hasEnded()
})

t.test('the mutations end at SIGTERM, and leave nothing behind', async t => {
  const folder = await createFolder(t)
  const path = fileURLToPath(new URL('../dist/mutations.js', import.meta.url))
  const program = startProgram(t, [path], { TMPDIR: folder })
  const scope = () => readdirSync(folder).some(copy => existsSync(join(folder, copy, 'node_modules/@kimchi')))
  await eventually('the copy is there', scope)
  const code = await program.end()
  t.equal(code, 130, program.lines.join())
  t.strictSame(readdirSync(folder), [])
})
