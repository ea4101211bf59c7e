#!/usr/bin/env node
/** Writes the configuration table of README.md from the settings in code; with --check it only says whether it is stale. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const README = join(import.meta.dirname, '..', 'README.md')
const BEGIN = '<!-- configuration: made by `npm run docs` from apps/*/src/config.ts -->'
const END = '<!-- configuration ends -->'

const { settings: ingester } = await import('../apps/ingester/dist/config.js')
const { settings: api } = await import('../apps/api/dist/config.js')

const text = readFileSync(README, 'utf8')
const [before, rest] = text.split(BEGIN)
const after = rest?.split(END)[1]
if (before === undefined || after === undefined) throw new Error(`README.md must contain the line: ${BEGIN}`)
const next = `${before}${BEGIN}\n${table()}\n${END}${after}`

if (process.argv.includes('--check')) {
  if (next !== text) {
    process.stderr.write('The configuration table in README.md is stale; run: npm run docs\n')
    process.exit(1)
  }
  process.stdout.write('The configuration table in README.md is up to date.\n')
} else {
  writeFileSync(README, next)
}

function table() {
  const names = new Set([...Object.keys(ingester), ...Object.keys(api)])
  const rows = [...names].map(name => {
    const users = Object.entries({ ingester, api }).filter(([, settings]) => name in settings)
    const [, settings] = users[0]
    const { description, allowed } = settings[name]
    const defaults = [...new Set(users.map(([app, own]) => `${own[name].default ?? ''}|${app}`))]
    const values = new Set(users.map(([, own]) => own[name].default))
    const shown =
      values.size === 1
        ? `\`${[...values][0]}\``
        : defaults.map(entry => `\`${entry.split('|')[0]}\` (${entry.split('|')[1]})`).join(', ')
    return `| ${name} | ${users.map(([app]) => app).join(', ')} | ${shown} | ${description} | ${allowed} |`
  })
  return ['| name | read by | default | | allowed |', '|---|---|---|---|---|', ...rows].join('\n')
}
