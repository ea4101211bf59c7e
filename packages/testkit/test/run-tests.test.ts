import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { startProgram } from '../src/program.ts'

const RUN_TESTS = fileURLToPath(new URL('../run-tests.mjs', import.meta.url))
const TAP = import.meta.resolve('tap')

/** A workspace with these test files, run in as many processes; each file has 15 s. */
async function runTests(t: Test, jobs: number, files: Readonly<Record<string, string>>, ...args: string[]) {
  const tap = { timeout: 15, jobs, 'node-arg': ['--import=@kimchi/testkit/strip-types'] }
  const cwd = t.testdir({ 'package.json': JSON.stringify({ type: 'module', tap }) })
  await mkdir(join(cwd, 'test/inner'), { recursive: true })
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(cwd, 'test', name), `import t from '${TAP}'\n${text}`)
  }
  const program = startProgram(t, [RUN_TESTS, ...args], {}, { cwd })
  return { code: await program.ended, output: program.lines.join('\n') }
}

t.test('runs every test file of a workspace, or those that are named', async t => {
  const files = {
    'a.test.ts': "t.pass('first')",
    'inner/b.test.ts': "t.notMatch(process.env.NODE_OPTIONS ?? '', /processinfo/, 'second')",
    'helper.ts': "t.fail('not a test')",
  }
  const all = await runTests(t, 2, files)
  t.equal(all.code, 0)
  t.match(all.output, /ok \d+ - first\n/)
  t.match(all.output, /ok \d+ - second\n/)
  const one = await runTests(t, 2, files, 'test/a.test.ts')
  t.equal(one.code, 0)
  t.notMatch(one.output, /second/)
})

t.test('a test that fails or throws fails the run, and the files after it run', async t => {
  const files = { 'fails.test.ts': "t.fail('no')", 'throws.test.ts': "t.pass('yes')\nthrow new Error('no')" }
  const { code, output } = await runTests(t, 1, files)
  t.equal(code, 1)
  t.match(output, /\bnot ok \d+ - no\n/)
  t.match(output, /\bnot ok \d+ - test\/throws/)
})

t.test('a test that hangs or ends too early fails the run', async t => {
  const wrong = {
    'hangs.test.ts': "t.test('waits', () => new Promise(resolve => setTimeout(resolve, 60_000)))",
    'ends.test.ts': "t.test('half', t => { t.plan(2); t.pass('yes'); process.exit(0) })",
  }
  for (const [name, text] of Object.entries(wrong)) {
    const { code } = await runTests(t, 1, { 'a.test.ts': "t.pass('yes')", [name]: text })
    t.equal(code, 1, name)
  }
})

t.test('files that share a process run one after another, each within its own time', async t => {
  const waits = (name: string) =>
    `t.test('waits in ${name}', () => new Promise(resolve => setTimeout(resolve, 6_000)))`
  const files = { 'a.test.ts': waits('a'), 'b.test.ts': waits('b'), 'c.test.ts': waits('c') }
  const { code, output } = await runTests(t, 1, files)
  t.equal(code, 0, output)
  t.match(output, /- test\/a.*- waits in a .*- test\/b.*- waits in b .*- test\/c.*- waits in c /s)
})

t.test('a file that ends its process fails the run where another was to come', async t => {
  const files = { 'a.test.ts': "t.pass('yes')\nprocess.exit(0)", 'b.test.ts': "t.pass('yes')" }
  t.equal((await runTests(t, 1, files)).code, 1)
})

t.test('a test file runs alone under a debugger, one subtest by its name', async t => {
  const cwd = t.testdir({
    'package.json': '{ "type": "module" }',
    'a.test.ts': `import t from '${TAP}'
t.test('the wanted one', t => { t.pass('wanted'); t.end() })
t.test('another', t => { t.fail('not wanted'); t.end() })`,
  })
  const args = [
    '--inspect=127.0.0.1:0',
    `--import=${import.meta.resolve('@kimchi/testkit/strip-types')}`,
    'a.test.ts',
  ]
  const program = startProgram(t, args, { TAP_GREP: 'the wanted one', NODE_OPTIONS: '' }, { cwd })
  t.equal(await program.ended, 0)
  const output = program.lines.join('\n')
  t.match(output, /Debugger listening/)
  t.match(output, /ok \d+ - wanted/)
})
