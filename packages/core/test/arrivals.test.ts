import t from 'tap'
import { Arrivals } from '../src/arrivals.ts'
import { at, upbitTick } from './ticks.ts'

/** What the last of some frames shows, received at M − 30 s, each so many seconds after it was sent. */
function isSkewed(...lags: readonly number[]) {
  const arrivals = new Arrivals()
  const frames = lags.map(lag => upbitTick('KRW-BTC', 1, at(-30 - lag), { receivedAt: at(-30) }))
  const judged = frames.map(frame => arrivals.judge(frame, {}))
  return judged.at(-1)?.isSkewed
}

t.test('there is no skew while most frames are within two seconds', async t => {
  t.equal(isSkewed(2), false, 'exactly two seconds is no skew')
  t.equal(isSkewed(-2), false, 'either way')
  t.equal(isSkewed(1.9, 1.9, 1.9), false)
})

t.test('there is skew when more than half of the frames are late, or early', async t => {
  t.equal(isSkewed(2.001), true)
  t.equal(isSkewed(-2.001), true)
  t.equal(isSkewed(3, 0), false)
  t.equal(isSkewed(3, 0, 3), true)
  t.equal(isSkewed(-3, 0, -3), true)
  t.equal(isSkewed(-3, 3), false)
})

/** In milliseconds from now, which is when the frame is received. */
interface Case {
  readonly openedAt?: number
  readonly isLate?: boolean
  readonly before?: { readonly receivedAt: number; readonly isLate?: boolean }
  readonly shows: string | undefined
}

const CASES: Readonly<Record<string, Case>> = {
  'the next frame': { before: { receivedAt: -1_000 }, shows: undefined },
  'the next frame, three seconds later': { before: { receivedAt: -3_000 }, shows: undefined },
  'a silence': { before: { receivedAt: -3_001 }, shows: 'silence from 0, seeds' },
  'the first frame of the feed': { openedAt: -500, shows: 'from -500' },
  'another connection': { openedAt: -500, before: { receivedAt: -900 }, shows: 'from -500' },
  'another connection, silent at first': {
    openedAt: -3_001,
    before: { receivedAt: -10 },
    shows: 'silence from 0, seeds',
  },
  'another connection after an outage': {
    openedAt: -500,
    before: { receivedAt: -90_000 },
    shows: 'from -500',
  },
  'a clock that stepped back': { before: { receivedAt: 1 }, shows: 'back, silence from 0, seeds' },
  'a clock that stepped back, on another connection': {
    openedAt: -500,
    before: { receivedAt: 60_000 },
    shows: 'back, silence from 0, seeds',
  },
  'a late frame': { isLate: true, before: { receivedAt: -10 }, shows: 'from 0' },
  'a late frame after another': { isLate: true, before: { receivedAt: 0, isLate: true }, shows: 'from 0' },
  'a late frame after a silence': { isLate: true, before: { receivedAt: -9_000 }, shows: 'silence from 0' },
  'a fresh frame after a late one': { before: { receivedAt: 0, isLate: true }, shows: 'from 0, seeds' },
  'a fresh frame of another connection after a late one': {
    openedAt: -500,
    before: { receivedAt: -10, isLate: true },
    shows: 'from -500',
  },
  'a late frame of another connection': { openedAt: -500, isLate: true, shows: 'from 0' },
}

/** A frame that was on its way for a tenth of a second, or for three. */
function frameAt(receivedAt: number, isLate = false) {
  return upbitTick('KRW-BTC', 1, receivedAt - (isLate ? 3_000 : 100), { receivedAt })
}

// docs/faults.md, 38, 85, 98
for (const [name, { openedAt, isLate, before, shows }] of Object.entries(CASES)) {
  t.test(`${name}: ${shows ?? 'nothing was lost'}`, async t => {
    const arrivals = new Arrivals()
    const now = at(0)
    const lastAt = before && now + before.receivedAt
    if (lastAt !== undefined) arrivals.judge(frameAt(lastAt, before?.isLate), {})
    const heard = { lastAt, openedAt: openedAt === undefined ? undefined : now + openedAt }
    const { interruption: shown } = arrivals.judge(frameAt(now, isLate), heard)
    const text =
      shown &&
      `${shown.isClockBack ? 'back, ' : ''}${shown.isSilence ? 'silence ' : ''}from ${shown.pricesFrom - now}${shown.isSeedWanted ? ', seeds' : ''}`
    t.equal(text, shows)
  })
}
