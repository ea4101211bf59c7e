import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A mistake that a later change might make. */
export interface Mutation {
  /** The rule that is broken. */
  readonly breaks: string
  readonly file: string
  /** What is to find it: files in `test` of the workspace, without `.test.ts`. */
  readonly tests: readonly string[]
  /** Whole lines that stand once in the file, and what takes their place. */
  readonly search: string
  readonly replace: string
}

export const MUTATIONS = readMutations(readFileSync(new URL('../mutations.diff', import.meta.url), 'utf8'))

function readMutations(text: string): readonly Mutation[] {
  const [, ...files] = text.split(/^file /m)
  return files.flatMap(part => {
    const [head = '', ...rules] = part.split(/^# /m)
    const [file = '', tests = ''] = head.trim().split('\ntests ')
    return rules.map(rule => {
      const [breaks = '', ...lines] = rule.trimEnd().split('\n')
      const linesOf = (marks: string) => lines.filter(line => marks.includes(line.charAt(0)))
      const side = (marks: string) => ['', ...linesOf(marks).map(line => line.slice(1)), ''].join('\n')
      return { breaks, file, tests: tests.split(' '), search: side(' -'), replace: side(' +') }
    })
  })
}

/** A mutation's file in a copy of the repository, with the mistake in it. @throws where it does not apply, or changes nothing */
export function mutated(copy: string, { breaks, file, search, replace }: Mutation): string {
  const parts = readFileSync(join(copy, file), 'utf8').split(search)
  if (parts.length !== 2)
    throw new Error(`“${breaks}” applies ${parts.length - 1} times to ${file}, not once`)
  if (search === replace) throw new Error(`“${breaks}” changes nothing in ${file}`)
  return parts.join(replace)
}
