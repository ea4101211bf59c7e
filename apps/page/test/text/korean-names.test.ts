import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const names: Record<string, string> = JSON.parse(readFileSync(at('../../src/text/korean-names.json'), 'utf8'))

t.test('every coin that is tracked by default has a Korean name', async t => {
  const configuration = readFileSync(at('../../../../docs/configuration.md'), 'utf8')
  const [, coins = ''] = /\| COINS \| ingester \| `([^`]+)`/.exec(configuration) ?? []
  const symbols = coins.split(',')
  t.ok(symbols.length >= 10, coins)
  for (const symbol of symbols) t.match(names[symbol], /[가-힣]/, symbol)
})
