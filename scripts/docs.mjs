#!/usr/bin/env node
/**
 * Writes the table of docs/configuration.md from the settings in code; with --check it only says whether it
 * is stale. `local` is what `npm run demo` and `npm start` read themselves.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const DOCUMENT = join(import.meta.dirname, '..', 'docs/configuration.md')
const BEGIN = '<!-- configuration: made by `npm run docs` from apps/*/src/config.ts -->'
const END = '<!-- configuration ends -->'

/** @type {Map<string, Record<string, import('@kimchi/core').Setting<unknown>>>} by app */
const settings = new Map()
for (const app of ['ingester', 'api', 'local']) {
  settings.set(app, (await import(`../apps/${app}/dist/config.js`)).settings)
}

const text = readFileSync(DOCUMENT, 'utf8')
const [before, rest] = text.split(BEGIN)
const after = rest?.split(END)[1]
if (before === undefined || after === undefined)
  throw new Error(`docs/configuration.md must contain the line: ${BEGIN}`)
const next = `${before}${BEGIN}\n${table()}\n${END}${after}`

if (process.argv.includes('--check')) {
  if (next !== text) {
    process.stderr.write('The table in docs/configuration.md is stale; run: npm run docs\n')
    process.exit(1)
  }
  process.stdout.write('The table in docs/configuration.md is up to date.\n')
} else {
  writeFileSync(DOCUMENT, next)
}

/** One row per variable and meaning: apps for which it is, allows and defaults to the same share a row. */
function table() {
  const names = new Set([...settings.values()].flatMap(Object.keys))
  const rows = [...names].flatMap(name => {
    /** @type {Map<string, string[]>} */
    const readers = new Map()
    for (const [app, { [name]: setting }] of settings) {
      if (setting === undefined) continue
      const cells = `${shown(setting.default)} | ${setting.description} | ${setting.allowed}`
      readers.set(cells, [...(readers.get(cells) ?? []), app])
    }
    return [...readers].map(([cells, by]) => `| ${name} | ${by.join(', ')} | ${cells} |`)
  })
  return ['| name | read by | default | | allowed |', '|---|---|---|---|---|', ...rows].join('\n')
}

/** @param {string | undefined} text a default; undefined where the description says what happens without */
function shown(text) {
  if (text === undefined) return ''
  return text === '' ? 'none' : `\`${text}\``
}
