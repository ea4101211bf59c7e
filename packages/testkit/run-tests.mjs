#!/usr/bin/env node
/**
 * Runs a workspace's tests by tap's settings, like `tap` itself, but in as many processes as it has jobs: to start
 * one for each file takes longer than most files run. Mocks of modules are left to `tap`.
 *   run-tests [test/one.test.ts ...]
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { TapConfig } from '@tapjs/config'
import t from 'tap'

const RUN_CLAIMED_FILES = fileURLToPath(new URL('run-claimed-files.mjs', import.meta.url))
const { values, positionals } = (await TapConfig.load()).parse()
const files = positionals.length > 0 ? positionals : testFiles('test')
const claims = mkdtempSync(join(tmpdir(), 'run-tests-'))

t.setTimeout(0)
t.jobs = Math.min(values.jobs, files.length)
const processes = Array.from({ length: t.jobs }, (_, job) => {
  const program = [process.execPath, '--enable-source-maps', ...values['node-arg'], RUN_CLAIMED_FILES]
  // tap hands its loaders down in NODE_OPTIONS, also to the programs that a test starts, and names folders of
  // tests after all arguments.
  const env = ['-u', 'NODE_OPTIONS', `TEST_FILES=${files.join(' ')}`, `TEST_CLAIMS=${claims}`]
  const options = { buffered: t.jobs > 1, timeout: values.timeout * 1_000 }
  return t.spawn('env', [...env, ...program], options, `process ${job + 1}`)
})
await Promise.all(processes)
t.equal(readdirSync(claims).length, files.length, 'every file has run')
const failed = files.filter((_, index) => {
  const claim = join(claims, String(index))
  return existsSync(claim) && !existsSync(join(claim, 'passed'))
})
// scripts/test.mjs names them last, after all workspaces.
mkdirSync('.tap', { recursive: true })
writeFileSync('.tap/failed', failed.join('\n'))
// After tap's own last lines.
process.once('exit', () => {
  if (failed.length > 0) console.error(`failed; alone: npx run-tests ${failed.join(' ')}`)
})
rmSync(claims, { recursive: true })

/** @param {string} folder */
function testFiles(folder) {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()
  return names.filter(name => name.endsWith('.test.ts')).map(name => join(folder, name))
}
