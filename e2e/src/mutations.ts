import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { withTeardown } from '@kimchi/testkit'
import { type Outcome, runWithin } from './bounded-run.ts'
import { MUTATIONS, type Mutation, mutated } from './mutation-list.ts'

const { values } = parseArgs({
  options: {
    /** Only those whose rule has this text. */
    only: { type: 'string', default: '' },
  },
})

/** Of one ingester and of two, of a list and of all coins, across midnight: faults that mistakes would not survive. */
const DAYS = [
  { seed: '353', kinds: 'lost writes,lost key,restart,silence,latency,Redis away,late candles' },
  { seed: '591', kinds: 'import,halt,delisting,lost key,kill,Redis cut,wrong clock,wrong price' },
  { seed: '435', kinds: 'maintenance,wrong clock,latency,lag,restart,silence' },
  {
    seed: '697',
    kinds: 'lost writes,pause,half-open,ban,late candles,absent candles,cut socket',
  },
] as const
type Day = (typeof DAYS)[number]

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** What the copy has from the repository itself. */
const SHARED = ['.cache', '.git']
const RUN_WITHIN_MS = 300_000

const ending = new AbortController()
const copy = mkdtempSync(join(tmpdir(), 'mutations-'))
// What a program leaves behind when it is ended goes with the copy.
const env = { ...process.env, TMPDIR: join(copy, 'tmp') }
await withTeardown(async t => {
  let running = Promise.resolve()
  t.teardown(() => rmSync(copy, { recursive: true, force: true }))
  t.teardown(() => running.catch(() => {}))
  t.teardown(() => ending.abort())
  copyTree()
  running = findAll()
  await running
})

/** Puts the mutations into the copy, one at a time, and says what finds each. */
async function findAll(): Promise<void> {
  const run = (args: readonly string[], cwd = copy) =>
    runWithin(RUN_WITHIN_MS, ending.signal, args, { cwd, env })
  const build = () => run(['node_modules/typescript/bin/tsc', '-b'])
  const runDay = ({ seed, kinds }: Day) =>
    run(['e2e/dist/days.js', '--seed', seed, '--minutes', '240', '--kinds', kinds])
  const runTests = ({ file, tests }: Mutation) => {
    const paths = tests.map(name => `test/${name}.test.ts`)
    const workspace = join(copy, ...file.split('/').slice(0, 2))
    return run([join(copy, 'packages/testkit/run-tests.mjs'), ...paths], workspace)
  }
  const chosen = MUTATIONS.filter(({ breaks }) => breaks.includes(values.only))
  // What cannot find anything is named before hours have passed.
  for (const mutation of chosen) mutated(copy, mutation)
  await demand('the build', build())
  for (const day of DAYS) await demand(`the day of seed ${day.seed}`, runDay(day))
  const files = new Map(chosen.map(mutation => [mutation.file, mutation]))
  for (const [file, mutation] of files) await demand(`tests of ${file}`, runTests(mutation))
  const counts = { tests: 0, days: 0, neither: 0, 'timed out': 0 }
  for (const mutation of chosen) {
    const { breaks, file } = mutation
    const path = join(copy, file)
    const original = readFileSync(path, 'utf8')
    writeFileSync(path, mutated(copy, mutation))
    const outcomes: Record<string, Outcome> = { 'the compiler': await build() }
    if (outcomes['the compiler'] === 'passed') outcomes.tests = await runTests(mutation)
    for (const day of outcomes.tests === undefined ? [] : DAYS) {
      const outcome = await runDay(day)
      outcomes[`the day of seed ${day.seed}`] = outcome
      if (outcome === 'failed') break
    }
    writeFileSync(path, original)
    await demand('the build', build())
    const namesOf = (sought: Outcome) => Object.keys(outcomes).filter(name => outcomes[name] === sought)
    const [by, late] = [namesOf('failed'), namesOf('timed out')]
    if (by.length === 0) counts[late.length > 0 ? 'timed out' : 'neither'] += 1
    if (by.includes('tests') || by.includes('the compiler')) counts.tests += 1
    if (by.some(name => name.startsWith('the day'))) counts.days += 1
    const said = late.length > 0 ? `, ${late.join(' and ')} TIMED OUT` : ''
    console.log(`${by.join(' and ') || 'NOTHING'} found${said}: ${breaks}`)
  }
  console.log(`${chosen.length} mutations, by what found them: ${JSON.stringify(counts)}`)
  if (counts.tests < chosen.length) process.exitCode = 1
}

/** @throws where something does not pass without a mutation */
async function demand(name: string, running: Promise<Outcome>): Promise<void> {
  const outcome = await running
  if (outcome !== 'passed') throw new Error(`${name} ${outcome} without a mutation`)
}

/** Installed packages are shared; the workspaces among them are the copy's own. */
function copyTree(): void {
  const own = [...SHARED, '.turbo', '.tap']
  cpSync(ROOT, copy, {
    recursive: true,
    preserveTimestamps: true,
    verbatimSymlinks: true,
    filter: source => !own.includes(basename(source)) && source !== join(ROOT, 'node_modules'),
  })
  for (const name of SHARED) if (existsSync(join(ROOT, name))) symlinkSync(join(ROOT, name), join(copy, name))
  mkdirSync(env.TMPDIR)
  mkdirSync(join(copy, 'node_modules'))
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (name !== '@kimchi') symlinkSync(join(ROOT, 'node_modules', name), join(copy, 'node_modules', name))
  }
  const scope = join('node_modules', '@kimchi')
  cpSync(join(ROOT, scope), join(copy, scope), { recursive: true, verbatimSymlinks: true })
}
