#!/usr/bin/env node
/**
 * Runs a workspace's tests by tap's settings, like `tap` itself, but in as many processes as it has jobs: to start
 * one for each file takes longer than most files run. Coverage and mocks of modules are left to `tap`.
 *   run-tests [test/one.test.ts ...]
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { TapConfig } from '@tapjs/config'
import t from 'tap'

const RUN_FILES = fileURLToPath(new URL('run-files.mjs', import.meta.url))
const { values, positionals } = (await TapConfig.load()).parse()
const files = positionals.length > 0 ? positionals : testFiles('test')
const jobs = Math.min(values.jobs, files.length)

t.setTimeout(0)
t.jobs = jobs
for (let job = 0; job < jobs; job += 1) {
  const own = files.filter((_, index) => index % jobs === job)
  const program = [process.execPath, '--enable-source-maps', ...values['node-arg'], RUN_FILES]
  // tap hands its loaders down in NODE_OPTIONS, also to the programs that a test starts, and names folders of
  // tests after all arguments.
  const args = ['-u', 'NODE_OPTIONS', `TEST_FILES=${own.join(' ')}`, ...program]
  t.spawn('env', args, { buffered: jobs > 1, timeout: values.timeout * 1_000 }, own.join(' '))
}

/** @param {string} folder */
function testFiles(folder) {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()
  return names.filter(name => name.endsWith('.test.ts')).map(name => join(folder, name))
}
