/**
 * Runs benchmarks, all of them or those named, and writes their sections into docs/benchmarks.md.
 *   npm run bench -- [NAME…] [--rounds 11] [--seconds 1] [--peers] [--image-node]
 * With --image-node on the Node of the images, which is installed under .cache.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { backfill } from './backfill.ts'
import { edge } from './edge.ts'
import { replicas } from './replicas.ts'
import { serve } from './serve.ts'
import { streaming } from './streaming.ts'

const BENCHMARKS = { serve, streaming, replicas, backfill, edge }

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '11' },
    seconds: { type: 'string', default: '1' },
    peers: { type: 'boolean', default: false },
    'image-node': { type: 'boolean', default: false },
  },
})
const unknown = positionals.filter(name => !(name in BENCHMARKS))
if (unknown.length > 0) throw new Error(`benchmarks are ${Object.keys(BENCHMARKS)}, got: ${unknown}`)

if (values['image-node']) {
  const script = fileURLToPath(new URL('../../scripts/image-node.sh', import.meta.url))
  const node = join(execFileSync('bash', [script], { encoding: 'utf8' }).trim(), 'node')
  const args = process.argv.slice(1).filter(arg => arg !== '--image-node')
  process.exitCode = spawnSync(node, args, { stdio: 'inherit' }).status ?? 1
} else {
  const options = { rounds: Number(values.rounds), seconds: Number(values.seconds), peers: values.peers }
  for (const [name, measure] of Object.entries(BENCHMARKS)) {
    if (positionals.length === 0 || positionals.includes(name)) await measure(options)
  }
}
