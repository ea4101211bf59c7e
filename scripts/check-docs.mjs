#!/usr/bin/env node
/**
 * Fails when code or documents cite what this repository doesn't have: a file or heading, a fault number that
 * docs/faults.md lacks, a test that docs/faults.md names. Links and line
 * lengths of Markdown are markdownlint's job (.markdownlint-cli2.jsonc).
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const FAULTS = 'docs/faults.md'
const SELF = 'scripts/check-docs.mjs'

/**
 * A path of this repository, with the heading it points at. Built files and patterns such as `apps/*` are
 * left out.
 */
const PATH =
  /(?<![\w./-])(?:apps|bench|deploy|docs|e2e|packages|scripts)\/[\w./-]+\.(?:tsx?|mjs|lua|md|json|yml)\b(#[\w-]+)?/g
const CITED_FAULTS = /faults\.md\)?, (\d+(?:(?:, | and |–)\d+)*)/g
/** Documents that are not in the repository, and fault numbers that don't say where the list is. */
const DANGLING = /(?<!RFC \d{4} )§|\bfaults? \d+/g

const files = execFileSync(
  'git',
  ['ls-files', '*.ts', '*.tsx', '*.mjs', '*.lua', '*.md', '*.yml', 'Dockerfile'],
  {
    cwd: ROOT,
    encoding: 'utf8',
  },
)
const texts = new Map(
  files
    .split('\n')
    .filter(file => file !== '' && file !== SELF && existsSync(join(ROOT, file)))
    .map(file => [file, readFileSync(join(ROOT, file), 'utf8')]),
)
const faults = readFaults()
const problems = [...texts].flatMap(([file, text]) => problemsOf(file, text)).concat(problemsOfFaults())

for (const problem of problems) process.stderr.write(`${problem}\n`)
if (problems.length > 0) process.exit(1)
process.stdout.write(
  `${texts.size} files cite nothing that is missing; docs/faults.md names ${faults.size} faults.\n`,
)

/**
 * @param {string} file
 * @param {string} text
 */
function problemsOf(file, text) {
  const at = (/** @type {number} */ index) => `${file}:${text.slice(0, index).split('\n').length}:`
  const missing = [...text.matchAll(PATH)]
    .filter(
      ([path, heading = '']) => !resolves(path.slice(0, path.length - heading.length), heading.slice(1)),
    )
    .map(({ 0: path, index }) => `${at(index)} ${path} does not exist`)
  const unknown = [...text.matchAll(CITED_FAULTS)].flatMap(({ 1: list = '', index }) =>
    (list.match(/\d+/g) ?? [])
      .filter(number => !faults.has(Number(number)))
      .map(number => `${at(index)} ${FAULTS} has no number ${number}`),
  )
  const dangling = [...text.matchAll(DANGLING)].map(
    ({ 0: words, index }) => `${at(index)} "${words}" names no document of this repository`,
  )
  return [...missing, ...unknown, ...dangling]
}

/**
 * @param {string} path
 * @param {string} heading
 */
function resolves(path, heading) {
  if (path.includes('/dist/')) return true
  if (!existsSync(join(ROOT, path))) return false
  return heading === '' || headings(readFileSync(join(ROOT, path), 'utf8')).has(heading)
}

/** @param {string} text */
function headings(text) {
  const titles = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title)
  return new Set(
    titles.map(title =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N} -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

/** Each fault's number, with the tests that its list names. */
function readFaults() {
  /** @type {Map<number, string[]>} */
  const found = new Map()
  for (const item of (texts.get(FAULTS) ?? '').split(/^(?=\d+\. )/m).slice(1)) {
    const [number = '', ...shown] = item.split('\n\n')[0]?.split(/\n(?=\s+- )/) ?? []
    found.set(
      Number.parseInt(number, 10),
      shown.map(line => line.trim().slice(2).replace(/\s+/g, ' ')),
    )
  }
  return found
}

function problemsOfFaults() {
  return [...faults].flatMap(([number, shown], index) => {
    const missing = shown
      .filter(line => !isShown(line))
      .map(line => `${FAULTS}: ${number} names no test: ${line}`)
    if (number !== index + 1) missing.push(`${FAULTS}: ${number} stands where ${index + 1} should`)
    if (shown.length === 0) missing.push(`${FAULTS}: ${number} says neither a test nor "Open."`)
    return missing
  })
}

/** @param {string} line */
function isShown(line) {
  const [, file = '', title = ''] = line.match(/^`([^`]+)`: (.+)$/) ?? []
  if (file === '') return ['Open.', 'chaos', 'soak'].includes(line)
  return texts.get(file)?.includes(title) === true
}
