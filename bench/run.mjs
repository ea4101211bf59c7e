/**
 * Runs benchmarks, all of them or those named, each a program of its own. Build first.
 *   npm run bench [-- [NAME…] [--image-node] [options of the benchmark]]
 * With --image-node on the Node of the images, which is installed under .cache.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'

const ALL = ['serve', 'replicas', 'faults', 'streaming', 'backfill', 'redis-memory']

const args = process.argv.slice(2)
const options = args.filter(arg => !ALL.includes(arg) && arg !== '--image-node')
const named = ALL.filter(name => args.includes(name))
// What only one of them knows goes to that one.
const takes = (/** @type {string} */ name) => named.length > 0 || name === 'serve'
const program = args.includes('--image-node') ? installImageNode() : process.execPath
for (const name of named.length > 0 ? named : ALL) {
  const file = join(import.meta.dirname, `${name}.mjs`)
  const { status } = spawnSync(program, [file, ...(takes(name) ? options : [])], { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

function installImageNode() {
  const script = join(import.meta.dirname, '../scripts/image-node.sh')
  return join(execFileSync('bash', [script], { encoding: 'utf8' }).trim(), 'node')
}
