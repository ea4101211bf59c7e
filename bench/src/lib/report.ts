import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'

const FILE = fileURLToPath(new URL('../../../docs/benchmarks.md', import.meta.url))
/** The longest line of a document, in characters. */
const WIDTH = 110

/** The middle value; of an even number the upper one. */
export function median(values: readonly number[]): number {
  return Number(values.toSorted((a, b) => a - b)[values.length >> 1])
}

/** The median ratio of each round's value to the yardstick's in the same round: rounds differ more than contestants do. */
export function medianRatio(values: readonly number[], yardstick: readonly number[]): number {
  return median(values.map((value, round) => value / Number(yardstick[round])))
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map(row => `| ${row.join(' | ')} |`).join('\n')
}

/** Prints a section, and puts it in the place of that name's section in docs/benchmarks.md. */
export function writeSection(name: string, paragraphs: readonly string[]): void {
  const machine = `${cpus()[0]?.model.trim()}, Node ${process.versions.node}`
  // So that a reader can see what has changed since.
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  const [first = '', ...others] = paragraphs
  const text = [`## ${name}`, `${machine}, commit ${commit}. ${first}`, ...others].map(wrapped).join('\n\n')
  process.stdout.write(`\n\n${text}\n`)
  const sections = readFileSync(FILE, 'utf8').split(/^(?=## )/m)
  const replaced = sections.map(section => (section.startsWith(`## ${name}\n`) ? `${text}\n\n` : section))
  writeFileSync(FILE, `${replaced.join('').trimEnd()}\n`)
}

function wrapped(paragraph: string): string {
  // A row of a table is one line.
  if (paragraph.startsWith('|')) return paragraph
  return paragraph.replace(new RegExp(`(?=.{${WIDTH + 1}})(.{1,${WIDTH}}) +`, 'g'), '$1\n')
}
