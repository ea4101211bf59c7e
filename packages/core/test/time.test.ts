import fc from 'fast-check'
import t from 'tap'
import {
  DAY_MINUTES,
  dateOf,
  dayStart,
  formatTimestamp,
  MINUTE_MS,
  minuteOf,
  minuteStart,
  parseTimestamp,
} from '../src/time.ts'

const minute = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) / MINUTE_MS })

t.test('an instant belongs to the minute that began at or before it', async t => {
  const start = Date.UTC(2026, 10, 20, 13, 5)
  t.equal(minuteStart(minuteOf(start)), start)
  t.equal(minuteStart(minuteOf(start + 59_999)), start)
  t.equal(minuteStart(minuteOf(start - 1)), start - MINUTE_MS)
})

t.test('a date begins with its 00:00 and knows leap days', async t => {
  const midnight = minuteOf(Date.UTC(2028, 1, 29))
  t.equal(dateOf(midnight), '2028-02-29')
  t.equal(dateOf(midnight - 1), '2028-02-28')
  t.equal(dateOf(midnight + DAY_MINUTES), '2028-03-01')
  t.equal(dayStart(midnight), midnight)
  t.equal(dayStart(midnight + 1_439), midnight)
  t.equal(dayStart(midnight - 1), midnight - DAY_MINUTES)
})

t.test('a timestamp has no zone designator and reads back as the same minute', async t => {
  t.equal(formatTimestamp(minuteOf(Date.UTC(2026, 10, 20, 13, 5))), '2026-11-20T13:05:00')
  fc.assert(fc.property(minute, at => parseTimestamp(formatTimestamp(at)) === at))
  fc.assert(fc.property(minute, at => formatTimestamp(at).slice(0, 10) === dateOf(at)))
})

t.test('text that is no API timestamp is refused', async t => {
  const texts = [
    '',
    '2026-11-20',
    '2026-11-20T13:05',
    '2026-11-20T13:05:30',
    '2026-11-20T13:05:00Z',
    '2026-11-20T13:05:00+09:00',
    ' 2026-11-20T13:05:00',
    '2026-13-20T13:05:00',
    '2026-11-20T25:05:00',
    '2026-11-20T24:00:00',
    '2026-02-30T00:00:00',
    '+002026-11-20T13:05:00',
  ]
  for (const text of texts) t.equal(parseTimestamp(text), undefined, JSON.stringify(text))
})

// docs/faults.md, 23
t.test('dates and timestamps do not depend on the time zone of the machine', async t => {
  const { TZ } = process.env
  t.teardown(() => {
    if (TZ === undefined) delete process.env.TZ
    else process.env.TZ = TZ
  })
  const minutes = [0, 29_000_000, Date.UTC(2026, 2, 29, 1) / MINUTE_MS, Date.UTC(2028, 1, 29) / MINUTE_MS - 1]
  const answers = ['UTC', 'Asia/Seoul', 'America/St_Johns', 'Pacific/Kiritimati', 'Europe/Berlin'].map(
    zone => {
      process.env.TZ = zone
      const texts = minutes.map(at => [dateOf(at), dayStart(at), formatTimestamp(at)])
      return {
        offset: new Date(0).getTimezoneOffset(),
        texts,
        read: texts.map(([, , text]) => parseTimestamp(`${text}`)),
      }
    },
  )
  t.equal(new Set(answers.map(({ offset }) => offset)).size, answers.length, 'the zones took effect')
  for (const { texts, read } of answers) {
    t.strictSame(texts, answers[0]?.texts)
    t.strictSame(read, minutes)
  }
})
