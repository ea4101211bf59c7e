import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'

const FILE = join(import.meta.dirname, '../../docs/benchmarks.md')
/** Of lines in documents. */
const WIDTH = 110

/** The major version of Node that measures. */
export const [major = ''] = process.versions.node.split('.')

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1
    ? Number(sorted[middle])
    : (Number(sorted[middle - 1]) + Number(sorted[middle])) / 2
}

/**
 * A Markdown table.
 * @param {readonly string[]} head
 * @param {readonly (readonly (string | number)[])[]} rows
 */
export function table(head, rows) {
  return [head, head.map(() => '---'), ...rows].map(row => `| ${row.join(' | ')} |`).join('\n')
}

/** The machine on which it was measured, in one line. */
export function machine() {
  const [cpu] = cpus()
  const memory = Math.round(totalmem() / 2 ** 30)
  return `${cpu?.model.trim()}, ${cpus().length} cores, ${memory} GB, Linux, Node ${process.versions.node}`
}

/**
 * Prints a section and puts it into docs/benchmarks.md in place of the one of that name.
 * @param {string} name
 * @param {string} content in lines of any length
 */
export function publish(name, content) {
  const text = content.split('\n').map(wrapped).join('\n')
  process.stdout.write(`\n${text}\n`)
  const [begin, end] = [`<!-- ${name}: made by \`npm run bench\` -->`, `<!-- ${name} ends -->`]
  const section = `${begin}\n\n${text}\n\n${end}`
  const before = existsSync(FILE) ? readFileSync(FILE, 'utf8') : '# Benchmarks\n'
  const found = before.includes(begin) && before.includes(end)
  const next = found
    ? `${before.slice(0, before.indexOf(begin))}${section}${before.slice(before.indexOf(end) + end.length)}`
    : `${before.trimEnd()}\n\n${section}\n`
  writeFileSync(FILE, next)
}

/** @param {string} line */
function wrapped(line) {
  // A row of a table is one line.
  if (line.startsWith('|')) return line
  return line.replace(new RegExp(`(?=.{${WIDTH + 1}})(.{1,${WIDTH}}) +`, 'g'), '$1\n')
}
