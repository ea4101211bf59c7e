#!/usr/bin/env node
/**
 * Names the coins of a service's live list that have no Korean name in src/text/korean-names.json:
 * `node apps/page/scripts/missing-names.mjs https://premium.example`. Ends with 1 when there are any.
 */
import { readFile } from 'node:fs/promises'

const [base = 'http://127.0.0.1:3000'] = process.argv.slice(2)
const names = JSON.parse(await readFile(new URL('../src/text/korean-names.json', import.meta.url), 'utf8'))
const answer = await fetch(new URL('/api/v1/kimchi-premium', base))
if (!answer.ok) {
  console.error(`${answer.url} answered ${answer.status}`)
  process.exit(2)
}
/** @type {{ data: { symbol: string, name: string }[] }} */
const { data } = await answer.json()
const missing = data.filter(({ symbol }) => !Object.hasOwn(names, symbol))
for (const { symbol, name } of missing) console.log(`${symbol}\t${name}`)
console.error(`${data.length} coins, ${missing.length} without a Korean name`)
process.exit(missing.length > 0 ? 1 : 0)
