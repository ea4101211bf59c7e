import { parseArgs } from 'node:util'
import { edge } from './edge.ts'
import { serve } from './serve.ts'

const BENCHMARKS: Readonly<Record<string, (rounds: number) => Promise<void>>> = { serve, edge }

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '11' } },
})
const names = Object.keys(BENCHMARKS)
const unknown = positionals.filter(name => !names.includes(name))
if (unknown.length > 0) throw new Error(`benchmarks are ${names}, got: ${unknown}`)

for (const name of positionals.length > 0 ? positionals : names)
  await BENCHMARKS[name]?.(Number(values.rounds))
