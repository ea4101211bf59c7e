import fc from 'fast-check'
import t from 'tap'
import { premiumE4, type Sample, SpikeFilter, type SpikeVerdict } from '../src/index.ts'
import { M } from './ticks.ts'

/** A sample of BTC `index` minutes after M with a premium in points (percent). */
function sample(index: number, points: number, symbol = 'BTC'): Sample {
  const premium = Math.round(points * 10_000)
  return {
    symbol,
    minute: M + index,
    upbitKrw: 1,
    binanceUsdt: 1,
    usdtKrw: 1,
    premiumE4: premium,
    source: 'live',
  }
}

/** Each list as `symbol@minute=points`. */
function brief({ accepted, dropped, waiting }: SpikeVerdict): Record<string, string> {
  const text = (list: readonly Sample[]) =>
    list.map(({ minute, premiumE4: premium }) => `${minute - M}=${premium / 10_000}`).join(' ')
  return { accepted: text(accepted), dropped: text(dropped), waiting: text(waiting) }
}

/** The filter's verdicts on one coin's premiums in points, minute by minute; undefined is a gap. */
function run(filter: SpikeFilter, points: readonly (number | undefined)[]): Record<string, string>[] {
  return points.map((value, index) =>
    brief(filter.check(M + index, value === undefined ? [] : [sample(index, value)])),
  )
}

function filterOf(points: number, minute = M - 1): SpikeFilter {
  const filter = new SpikeFilter()
  filter.remember('BTC', minute, points * 10_000)
  return filter
}

t.test('the first sample of a coin is accepted: there is nothing to compare it with', async t => {
  t.strictSame(run(new SpikeFilter(), [900]), [{ accepted: '0=900', dropped: '', waiting: '' }])
})

// docs/faults.md, 20
t.test('a 10× spike of one minute is never accepted', async t => {
  const spike = premiumE4(10_000, 1, 1_000) / 10_000
  for (const lone of [spike, -90, 11.0001, -9.0001]) {
    t.strictSame(run(filterOf(1), [lone, 1, 1]), [
      { accepted: '', dropped: '', waiting: `0=${lone}` },
      { accepted: '1=1', dropped: `0=${lone}`, waiting: '' },
      { accepted: '2=1', dropped: '', waiting: '' },
    ])
  }
})

// docs/faults.md, 20
t.test('a real jump that stays is accepted one minute later, both minutes of it', async t => {
  t.strictSame(run(filterOf(1), [30, 35, 33]), [
    { accepted: '', dropped: '', waiting: '0=30' },
    { accepted: '0=30 1=35', dropped: '', waiting: '' },
    { accepted: '2=33', dropped: '', waiting: '' },
  ])
})

t.test('exactly 10 points is no jump and exactly 5 points is agreement', async t => {
  t.strictSame(run(filterOf(0), [10]), [{ accepted: '0=10', dropped: '', waiting: '' }])
  t.strictSame(run(filterOf(0), [10.0001, 15.0001])[1], {
    accepted: '0=10.0001 1=15.0001',
    dropped: '',
    waiting: '',
  })
  t.strictSame(run(filterOf(0), [10.0001, 15.0002])[1], {
    accepted: '',
    dropped: '0=10.0001',
    waiting: '1=15.0002',
  })
})

t.test('a second, different jump waits in turn', async t => {
  t.strictSame(run(filterOf(0), [900, -80, -79, 0]), [
    { accepted: '', dropped: '', waiting: '0=900' },
    { accepted: '', dropped: '0=900', waiting: '1=-80' },
    { accepted: '1=-80 2=-79', dropped: '', waiting: '' },
    { accepted: '', dropped: '', waiting: '3=0' },
  ])
})

t.test('a jump followed by a gap is dropped: no sample confirmed it', async t => {
  t.strictSame(run(filterOf(0), [30, undefined, 30, 30]), [
    { accepted: '', dropped: '', waiting: '0=30' },
    { accepted: '', dropped: '0=30', waiting: '' },
    { accepted: '', dropped: '', waiting: '2=30' },
    { accepted: '2=30 3=30', dropped: '', waiting: '' },
  ])
})

t.test('the last stored sample is remembered for an hour and not a minute longer', async t => {
  t.match(run(filterOf(0, M - 60), [30]), [{ accepted: '', waiting: '0=30' }])
  t.match(run(filterOf(0, M - 61), [30]), [{ accepted: '0=30', waiting: '' }])
})

t.test('an older sample does not replace the one remembered', async t => {
  const filter = filterOf(50)
  filter.remember('BTC', M - 2, 0)
  t.match(brief(filter.check(M, [sample(0, 50)])), { accepted: '0=50' })
  filter.remember('BTC', M, 0)
  t.match(brief(filter.check(M + 1, [sample(1, 50)])), { waiting: '1=50' }, 'one of the same minute does')
})

t.test('each coin is judged on its own', async t => {
  const filter = filterOf(0)
  filter.remember('ETH', M - 1, 0)
  const first = filter.check(M, [sample(0, 30, 'BTC'), sample(0, 1, 'ETH')])
  t.match(first, { accepted: [{ symbol: 'ETH' }], waiting: [{ symbol: 'BTC' }], dropped: [] })
  const second = filter.check(M + 1, [sample(1, 30, 'ETH'), sample(1, 30, 'BTC')])
  t.match(second, {
    accepted: [
      { symbol: 'BTC', minute: M },
      { symbol: 'BTC', minute: M + 1 },
    ],
    waiting: [{ symbol: 'ETH' }],
    dropped: [],
  })
})

t.test(
  'each sample is accepted or dropped exactly once, and no jump is accepted without the next minute',
  async () => {
    const minutes = fc.array(fc.option(fc.integer({ min: -40, max: 40 }), { nil: undefined }), {
      maxLength: 40,
    })
    fc.assert(
      fc.property(minutes, points => {
        const filter = filterOf(0)
        const judged = points.map((value, index) =>
          filter.check(M + index, value === undefined ? [] : [sample(index, value)]),
        )
        const end = filter.check(M + points.length, [])
        const accepted = [...judged, end].flatMap(verdict => verdict.accepted)
        const dropped = [...judged, end].flatMap(verdict => verdict.dropped)
        const fates = [...accepted, ...dropped].map(({ minute }) => minute - M).sort((a, b) => a - b)
        const given = points.flatMap((value, index) => (value === undefined ? [] : [index]))
        let last = 0
        const jumpsAlone = judged.some(verdict => {
          const [first, second] = verdict.accepted
          if (first === undefined) return false
          const isConfirmed = second !== undefined && Math.abs(first.premiumE4 - second.premiumE4) <= 50_000
          const isAlone = !isConfirmed && Math.abs(first.premiumE4 - last) > 100_000
          last = (second ?? first).premiumE4
          return isAlone
        })
        return String(fates) === String(given) && !jumpsAlone
      }),
      { numRuns: 1_000 },
    )
  },
)
