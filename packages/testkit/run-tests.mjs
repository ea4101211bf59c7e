#!/usr/bin/env node
/**
 * Runs a workspace's tests by tap's settings, like `tap` itself, but without what that loads into each of them
 * for mocks and coverage: it takes longer to start than most of them run.
 *   run-tests [test/one.test.ts ...]
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { TapConfig } from '@tapjs/config'
import t from 'tap'

const { values, positionals } = (await TapConfig.load()).parse()
const files = positionals.length > 0 ? positionals : testFiles('test')

t.setTimeout(0)
t.jobs = values.jobs
for (const file of files) {
  // tap hands its loaders down in NODE_OPTIONS, also to the programs that a test starts.
  const args = ['-u', 'NODE_OPTIONS', process.execPath, '--enable-source-maps', ...values['node-arg'], file]
  t.spawn('env', args, { buffered: values.jobs > 1, timeout: values.timeout * 1_000 }, file)
}

/** @param {string} folder */
function testFiles(folder) {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()
  return names.filter(name => name.endsWith('.test.ts')).map(name => join(folder, name))
}
