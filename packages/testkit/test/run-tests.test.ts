import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { startProgram } from '../src/program.ts'

const RUN_TESTS = fileURLToPath(new URL('../run-tests.mjs', import.meta.url))
const TAP = import.meta.resolve('tap')

/** A workspace with these test files, run. */
async function runTests(t: Test, files: Readonly<Record<string, string>>, args: readonly string[] = []) {
  const cwd = t.testdir({
    'package.json':
      '{"type":"module","tap":{"timeout":15,"jobs":2,"node-arg":["--import=@kimchi/testkit/strip-types"]}}',
  })
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
  const all = await runTests(t, files)
  t.equal(all.code, 0)
  t.match(all.output, /# \{ total: 2, pass: 2 \}/)
  const one = await runTests(t, files, ['test/a.test.ts'])
  t.match(one.output, /# \{ total: 1, pass: 1 \}/)
})

t.test('a test that fails, throws, hangs or ends too early fails the run', async t => {
  const wrong = {
    'fails.test.ts': "t.fail('no')",
    'throws.test.ts': "t.pass('yes')\nthrow new Error('no')",
    'hangs.test.ts': "t.test('waits', () => new Promise(resolve => setTimeout(resolve, 60_000)))",
    'ends.test.ts': "t.plan(2)\nt.pass('yes')\nprocess.exit(0)",
  }
  const { code, output } = await runTests(t, { 'right.test.ts': "t.pass('yes')", ...wrong })
  t.equal(code, 1)
  const failed = new Set([...output.matchAll(/^not ok \d+ - (test\/\S+)/gm)].map(([, name]) => name))
  t.strictSame(failed, new Set(Object.keys(wrong).map(name => `test/${name}`)))
})
