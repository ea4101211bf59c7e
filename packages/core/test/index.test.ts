import { readdirSync } from 'node:fs'
import t from 'tap'
import * as core from '../src/index.ts'

t.test('exports every function and constant of its files', async t => {
  const folder = new URL('../src/', import.meta.url)
  for (const file of readdirSync(folder).filter(name => name !== 'index.ts')) {
    const exported = (await import(new URL(file, folder).href)) as Record<string, unknown>
    for (const name of Object.keys(exported)) t.ok(name in core, `${name} of ${file}`)
  }
})
