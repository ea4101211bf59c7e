import { readdirSync } from 'node:fs'
import t from 'tap'
import * as core from '../src/index.ts'

/** Reached as `@kimchi/core/testing`, so that no app carries it. */
const OWN_ENTRY = ['index.ts', 'testing.ts']

t.test('exports every function and constant of its files', async t => {
  const folder = new URL('../src/', import.meta.url)
  for (const file of readdirSync(folder).filter(name => !OWN_ENTRY.includes(name))) {
    const exported = (await import(new URL(file, folder).href)) as Record<string, unknown>
    for (const name of Object.keys(exported)) t.ok(name in core, `${name} of ${file}`)
  }
})
