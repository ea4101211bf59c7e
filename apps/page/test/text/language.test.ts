import { readFileSync } from 'node:fs'
import t from 'tap'
import { en } from '../../src/text/en.ts'
import { ko } from '../../src/text/ko.ts'
import { fill, pickLanguage } from '../../src/text/language.ts'

t.test('follows the browser until somebody chooses', async t => {
  t.equal(pickLanguage(null, ['fr-FR', 'ko-KR', 'en']), 'ko')
  t.equal(pickLanguage(null, ['en-GB', 'ko']), 'en')
  t.equal(pickLanguage(null, ['de']), 'en')
  t.equal(pickLanguage('en', ['ko-KR']), 'en')
  t.equal(pickLanguage('xx', ['ko-KR']), 'ko')
})

const gapsOf = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([gap]) => gap)

t.test('each text is there in both languages, and says as much', async t => {
  for (const key of Object.keys(en) as (keyof typeof en)[]) {
    t.ok(en[key] && ko[key], key)
    const [english, korean] = [gapsOf(en[key]), gapsOf(ko[key])]
    // Where English gives a time and an age, Korean may leave it at the age.
    t.ok(korean.every(gap => english.includes(gap)) && korean.length >= Math.min(english.length, 1), key)
  }
  t.equal(fill('{x} ago', '5 min'), '5 min ago')
})

t.test('every coin that is tracked by default has a Korean name', async t => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
  const names = JSON.parse(read('../../src/text/korean-names.json'))
  const [, coins = ''] =
    /\| COINS \| ingester \| `([^`]+)`/.exec(read('../../../../docs/configuration.md')) ?? []
  t.strictSame(
    coins.split(',').filter(symbol => !names[symbol]),
    [],
    coins,
  )
})
