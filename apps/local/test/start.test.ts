import { join } from 'node:path'
import { systemClock } from '@kimchi/runtime'
import t from 'tap'
import { readConfig } from '../src/config.ts'
import { startLocal } from '../src/start.ts'

t.test('a data folder that can’t be used is named with its variable, and what would do', async t => {
  const file = join(t.testdir({ file: '' }), 'file')
  const context = { say: () => {}, clock: systemClock, signal: new AbortController().signal }
  await t.rejects(startLocal(readConfig('demo', { DATA_DIR: file }), context), {
    code: 'KIMCHI_ERR_CONFIG',
    message: new RegExp(`^DATA_DIR must be a folder of a local disk, .* got: ${file} \\(ENOTDIR`),
  })
})
