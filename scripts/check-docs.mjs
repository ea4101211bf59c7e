#!/usr/bin/env node
/**
 * Fails when code or documents cite what this repository doesn't have: a file or heading, or a number that
 * docs/faults.md lacks; and when no test cites a number of docs/faults.md. Links and line lengths of Markdown
 * are markdownlint's job (.markdownlint-cli2.jsonc).
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
const NUMBERED = /^- \*\*(\d+)\*\* /gm
const CITED_FAULTS = /faults\.md\)?, (\d+(?:(?:, | and |–)\d+)*)/g
/** Documents that are not in the repository, and fault numbers that don't say where the list is. */
const DANGLING = /(?<!RFC \d{4} )§|\bfaults? \d+/g

const files = execFileSync(
  'git',
  ['ls-files', '*.ts', '*.tsx', '*.mjs', '*.lua', '*.md', '*.yml', 'Dockerfile', '.ci/engine'],
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
const faults = [...(texts.get(FAULTS) ?? '').matchAll(NUMBERED)].map(([, number]) => Number(number))
const problems = [...texts].flatMap(([file, text]) => problemsOf(file, text)).concat(problemsOfFaults())

for (const problem of problems) process.stderr.write(`${problem}\n`)
if (problems.length > 0) process.exit(1)
process.stdout.write(
  `${texts.size} files cite nothing that is missing; docs/faults.md names ${faults.length} faults.\n`,
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
  const unknown = citedFaults(text)
    .filter(({ number }) => !faults.includes(number))
    .map(({ number, index }) => `${at(index)} ${FAULTS} has no number ${number}`)
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

/** @param {string} text */
function citedFaults(text) {
  return [...text.matchAll(CITED_FAULTS)].flatMap(({ 1: list = '', index }) =>
    (list.match(/\d+/g) ?? []).map(number => ({ number: Number(number), index })),
  )
}

function problemsOfFaults() {
  const tests = [...texts].filter(([file]) => file.includes('/test/') || file === '.ci/engine')
  const shown = new Set(tests.flatMap(([, text]) => citedFaults(text)).map(({ number }) => number))
  return faults.flatMap((number, index) => [
    ...(shown.has(number) ? [] : [`${FAULTS}: no test cites ${number}`]),
    ...(faults.indexOf(number) === index ? [] : [`${FAULTS}: ${number} stands there twice`]),
  ])
}
