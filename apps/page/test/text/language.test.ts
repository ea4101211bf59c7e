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

t.test('each text is there in both languages, with the same gaps', async t => {
  for (const key of Object.keys(en) as (keyof typeof en)[]) {
    t.ok(en[key] && ko[key], key)
    t.equal(en[key].includes('{x}'), ko[key].includes('{x}'), `${key} has the same gap`)
  }
  t.equal(fill('{x} ago', '5 min'), '5 min ago')
})
