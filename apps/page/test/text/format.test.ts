import t from 'tap'
import { createFormats } from '../../src/text/format.ts'

const en = createFormats('en')
const ko = createFormats('ko')

t.test('a premium is rounded to two digits, half away from zero', async t => {
  t.strictSame(
    [1.5561, 1.555, -1.555, 13.9951, 0.0099].map(value => en.signed(value)),
    [...['+1.56', '+1.56', '−1.56', '+14.00', '+0.01']],
  )
  t.equal(ko.signed(12.3), '+12.30')
  t.equal(en.signed(0.0099, 4), '+0.0099')
})

t.test('a premium that is rounded to zero has no sign', async t => {
  t.strictSame(
    [0, 0.0049, -0.0049].map(value => en.signed(value)),
    ['0.00', '0.00', '0.00'],
  )
})

t.test('prices keep every digit', async t => {
  t.equal(en.price(143_500_000), '143,500,000')
  t.equal(ko.price(0.00001234), '0.00001234')
  t.equal(en.price(101_250.5), '101,250.5')
})

t.test('ages grow from seconds to days', async t => {
  const ages = [-5_000, 42_000, 119_000, 180_000, 7_300_000, 200_000_000]
  t.strictSame(ages.map(en.age), ['0 sec', '42 sec', '119 sec', '3 min', '2 hr', '2 days'])
  t.strictSame(ages.map(ko.age), ['0초', '42초', '119초', '3분', '2시간', '2일'])
})

t.test(
  'times are Seoul’s in Korean and UTC elsewhere, with the date when it is another day there',
  async t => {
    const at = Date.UTC(2026, 10, 21, 13, 5)
    t.equal(en.time(at, at + 3_600_000), '13:05 UTC')
    t.equal(en.time(at, at + 86_400_000), '2026-11-21 13:05 UTC')
    t.equal(ko.time(at, at + 3_600_000), '22:05 KST')
    t.equal(ko.time(at, at + 2 * 3_600_000), '2026-11-21 22:05 KST', 'midnight has passed in Seoul')
  },
)
