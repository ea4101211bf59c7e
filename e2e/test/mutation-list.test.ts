import { fileURLToPath } from 'node:url'
import t from 'tap'
import { MUTATIONS, mutated } from '../src/mutation-list.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

// Else the weekly run is the first to say what a change has made of them.
t.test('each mistake can be made in the sources as they are', async t => {
  for (const mutation of MUTATIONS) t.ok(mutated(ROOT, mutation), mutation.breaks)
})
