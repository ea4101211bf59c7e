import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'

const FILE = fileURLToPath(new URL('../../../docs/benchmarks.md', import.meta.url))
/** Of lines in documents. */
const WIDTH = 110

/** Node's major version. */
export const NODE = Number.parseInt(process.versions.node, 10)

/** The middle value. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return (Number(sorted[Math.ceil(middle) - 1]) + Number(sorted[Math.floor(middle)])) / 2
}

/** A Markdown table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map(row => `| ${row.join(' | ')} |`).join('\n')
}

/** Prints a section, and puts it into docs/benchmarks.md in place of the one of that name. */
export function publish(name: string, paragraphs: readonly string[]): void {
  const [cpu] = cpus()
  const gigabytes = Math.round(totalmem() / 2 ** 30)
  const machine = `${cpu?.model.trim()}, ${cpus().length} cores, ${gigabytes} GB, Linux, Node ${process.versions.node}`
  const [first = '', ...others] = paragraphs
  const text = [`## ${name}`, `${machine}. ${first}`, ...others].map(wrapped).join('\n\n')
  process.stdout.write(`\n\n${text}\n`)
  const [begin, end] = [`<!-- ${name}: made by \`npm run bench\` -->`, `<!-- ${name} ends -->`]
  const section = `${begin}\n\n${text}\n\n${end}`
  const before = readFileSync(FILE, 'utf8')
  const [start, stop] = [before.indexOf(begin), before.indexOf(end)]
  const next =
    start < 0
      ? `${before.trimEnd()}\n\n${section}\n`
      : before.slice(0, start) + section + before.slice(stop + end.length)
  writeFileSync(FILE, next)
}

function wrapped(paragraph: string): string {
  // A row of a table is one line.
  if (paragraph.startsWith('|')) return paragraph
  return paragraph.replace(new RegExp(`(?=.{${WIDTH + 1}})(.{1,${WIDTH}}) +`, 'g'), '$1\n')
}
