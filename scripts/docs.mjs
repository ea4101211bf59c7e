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

const { settings: ingester } = await import('../apps/ingester/dist/config.js')
const { settings: api } = await import('../apps/api/dist/config.js')
const { settings: local } = await import('../apps/local/dist/config.js')

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

/** One row per variable; where the apps' defaults differ, each is named with its app. */
function table() {
  const names = new Set([ingester, api, local].flatMap(Object.keys))
  const rows = [...names].map(name => {
    /** @type {[string, Record<string, import('@kimchi/core').Setting<unknown>>][]} */
    const apps = [
      ['ingester', ingester],
      ['api', api],
      ['local', local],
    ]
    const readers = apps.filter(([, settings]) => name in settings)
    const own = readers.map(([app, settings]) => ({ app, ...settings[name] }))
    const given = own.filter(setting => setting.default !== undefined)
    const isSame = given.every(setting => setting.default === given[0]?.default)
    const defaults = (isSame ? given.slice(0, 1) : given)
      .map(setting => `\`${setting.default}\`${isSame ? '' : ` (${setting.app})`}`)
      .join(', ')
    return `| ${name} | ${own.map(({ app }) => app).join(', ')} | ${defaults} | ${own[0]?.description} | ${own[0]?.allowed} |`
  })
  return ['| name | read by | default | | allowed |', '|---|---|---|---|---|', ...rows].join('\n')
}
