import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { startProgram } from '../src/program.ts'

const RUN_TESTS = fileURLToPath(new URL('../run-tests.mjs', import.meta.url))
const TAP = import.meta.resolve('tap')

/** A workspace with these test files, run in one process; each file has 15 s. */
async function runTests(t: Test, files: Readonly<Record<string, string>>) {
  const tap = { timeout: 15, jobs: 1, 'node-arg': ['--import=@kimchi/testkit/strip-types'] }
  const cwd = t.testdir({ 'package.json': JSON.stringify({ type: 'module', tap }), test: {} })
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(cwd, 'test', name), `import t from '${TAP}'\n${text}`)
  }
  const program = startProgram(t, [RUN_TESTS], {}, { cwd })
  const code = await program.ended
  const failed = await readFile(join(cwd, '.tap/failed'), 'utf8')
  return { code, output: program.lines.join('\n'), failed: failed.split('\n') }
}

/** Runs of which one waits for the end of a file's 15 s; each is another process. */
const RUNS: Readonly<Record<string, (t: Test) => Promise<void>>> = {
  'a test that fails or throws fails the run, and the files after it run': async t => {
    const files = {
      'fails.test.ts': "t.fail('no')",
      'passes.test.ts': "t.pass('yes')",
      'throws.test.ts': "t.pass('yes')\nthrow new Error('no')",
    }
    const { code, output, failed } = await runTests(t, files)
    t.equal(code, 1)
    t.match(output, /\bnot ok \d+ - no\n/)
    t.match(output, /\bnot ok \d+ - test\/throws/)
    t.strictSame(failed, ['test/fails.test.ts', 'test/throws.test.ts'], 'and they are named')
    t.match(output, /\nfailed; alone: npx run-tests test\/fails.test.ts test\/throws.test.ts$/)
  },
  'a test that hangs fails the run': t =>
    failsAfter(t, "t.test('waits', () => new Promise(resolve => setTimeout(resolve, 60_000)))"),
  'a test that ends too early fails the run': t =>
    failsAfter(t, "t.test('half', t => { t.plan(2); t.pass('yes'); process.exit(0) })"),
  'a file that ends its process fails the run where another was to come': async t => {
    const files = { 'a.test.ts': "t.pass('yes')\nprocess.exit(0)", 'b.test.ts': "t.pass('yes')" }
    t.equal((await runTests(t, files)).code, 1)
  },
}

/** A file that passes, and then this one. */
async function failsAfter(t: Test, text: string) {
  const { code, failed } = await runTests(t, { 'a.test.ts': "t.pass('yes')", 'b.test.ts': text })
  t.equal(code, 1)
  t.strictSame(failed, ['test/b.test.ts'])
}

t.test('run-tests', async t => {
  t.jobs = 4
  await Promise.all(Object.entries(RUNS).map(([title, run]) => t.test(title, { buffered: true }, run)))
})
