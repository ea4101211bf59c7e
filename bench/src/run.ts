import { parseArgs } from 'node:util'
import { backfill } from './backfill.ts'
import { edge } from './edge.ts'
import { serve } from './serve.ts'
import { streaming } from './streaming.ts'

const BENCHMARKS = { serve, streaming, backfill, edge }

const HELP = `npm run bench -- [NAME...] [--rounds 11]
npm run bench -- backfill [--coins 16] [--days 2] [--refused 0,1,2]
Runs benchmarks, all of them or those named, and writes their sections into docs/benchmarks.md: ${Object.keys(BENCHMARKS).join(', ')}.
  --refused  percentages of requests that the exchanges answer with a 429, one for each backfill
`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '11' },
    coins: { type: 'string', default: '16' },
    days: { type: 'string', default: '2' },
    refused: { type: 'string', default: '0,1,2' },
    help: { type: 'boolean', short: 'h' },
  },
})
if (values.help) {
  process.stdout.write(HELP)
  process.exit()
}
const unknown = positionals.filter(name => !(name in BENCHMARKS))
if (unknown.length > 0) throw new Error(`benchmarks are ${Object.keys(BENCHMARKS)}, got: ${unknown}`)

const { rounds, coins, days, refused } = values
const counts = { rounds: Number(rounds), coins: Number(coins), days: Number(days) }
const options = { ...counts, refused: refused.split(',').map(Number) }
for (const [name, measure] of Object.entries(BENCHMARKS)) {
  if (positionals.length === 0 || positionals.includes(name)) await measure(options)
}
