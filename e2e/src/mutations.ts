import { spawnSync } from 'node:child_process'
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
import { MUTATIONS, type Mutation } from './mutation-list.ts'

const { values } = parseArgs({
  options: {
    /** Only those whose rule has this text. */
    only: { type: 'string', default: '' },
    days: { type: 'string', default: '4' },
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: '5800' },
  },
})
const [days, firstSeed] = [Number(values.days), Number(values.seed)]

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** What the copy has from the repository itself. */
const SHARED = ['.cache', '.git']
const TEST_WITHIN_MS = 300_000

const copy = mkdtempSync(join(tmpdir(), 'mutations-'))
process.on('exit', () => rmSync(copy, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
copyTree()

const isRight = (command: string, args: readonly string[], cwd = copy): boolean =>
  spawnSync(command, args, { cwd, stdio: 'ignore', timeout: TEST_WITHIN_MS, killSignal: 'SIGKILL' })
    .status === 0
const isBuilt = () => isRight(process.execPath, ['node_modules/typescript/bin/tsc', '-b'])
const passes = ([workspace, ...files]: Mutation['tests']) => {
  const paths = files.map(file => `test/${file}.test.ts`)
  return isRight(
    process.execPath,
    [join(copy, 'packages/testkit/run-tests.mjs'), ...paths],
    join(copy, workspace),
  )
}
const isTrueDay = (seed: number) =>
  isRight(process.execPath, ['e2e/dist/days.js', '--seed', String(seed), '--minutes', values.minutes])
const seeds = Array.from({ length: days }, (_, index) => firstSeed + index)

/** Tests that pass, and days that are true, without a mutation. */
const green = new Map<string, boolean>()
const isGreen = (tests: Mutation['tests']) => {
  const name = tests.join(' ')
  const is = green.get(name) ?? passes(tests)
  green.set(name, is)
  return is
}

const chosen = MUTATIONS.filter(({ breaks }) => breaks.includes(values.only))
if (!isBuilt()) throw new Error('the copy cannot be built')
// What cannot find anything is named before hours have passed.
for (const mutation of chosen) mutated(mutation)
for (const seed of seeds)
  if (!isTrueDay(seed)) throw new Error(`the day of seed ${seed} fails without a mutation`)
const found = { tests: 0, days: 0, neither: 0 }
for (const mutation of chosen) {
  const { breaks, file, tests } = mutation
  if (!isGreen(tests)) throw new Error(`${tests.join(' ')} fail without a mutation`)
  const path = join(copy, file)
  const original = readFileSync(path, 'utf8')
  writeFileSync(path, mutated(mutation))
  const by: string[] = []
  if (!isBuilt()) by.push('the compiler')
  else {
    if (!passes(tests)) by.push('tests')
    const seed = seeds.find(seed => !isTrueDay(seed))
    if (seed !== undefined) by.push(`the day of seed ${seed}`)
  }
  writeFileSync(path, original)
  if (!isBuilt()) throw new Error('the copy cannot be built again')
  if (by.length === 0) found.neither += 1
  if (by.includes('tests') || by.includes('the compiler')) found.tests += 1
  if (by.some(each => each.startsWith('the day'))) found.days += 1
  console.log(`${by.join(' and ') || 'NOTHING'} found: ${breaks}`)
}
console.log(
  `${chosen.length} mutations; found by tests ${found.tests}, by days ${found.days}, by neither ${found.neither}`,
)
if (found.tests < chosen.length) process.exitCode = 1

/** @throws where it does not apply, or changes nothing */
function mutated({ breaks, file, search, replace }: Mutation): string {
  const text = readFileSync(join(copy, file), 'utf8')
  const parts = text.split(search)
  if (parts.length !== 2)
    throw new Error(`“${breaks}” applies ${parts.length - 1} times to ${file}, not once`)
  if (search === replace) throw new Error(`“${breaks}” changes nothing in ${file}`)
  return parts.join(replace)
}

/** Installed packages are shared; the workspaces among them are the copy's own. */
function copyTree(): void {
  const filter = (source: string) =>
    source === ROOT || ![...SHARED, '.turbo', '.tap'].includes(basename(source))
  for (const name of readdirSync(ROOT)) {
    if (name === 'node_modules' || SHARED.includes(name)) continue
    cpSync(join(ROOT, name), join(copy, name), {
      recursive: true,
      preserveTimestamps: true,
      verbatimSymlinks: true,
      filter,
    })
  }
  for (const name of SHARED) if (existsSync(join(ROOT, name))) symlinkSync(join(ROOT, name), join(copy, name))
  mkdirSync(join(copy, 'node_modules'))
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (name !== '@kimchi') symlinkSync(join(ROOT, 'node_modules', name), join(copy, 'node_modules', name))
  }
  const scope = join('node_modules', '@kimchi')
  cpSync(join(ROOT, scope), join(copy, scope), { recursive: true, verbatimSymlinks: true })
}
