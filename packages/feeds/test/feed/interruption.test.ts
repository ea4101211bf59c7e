import t from 'tap'
import { type DataBefore, type DataFrame, interruptionAt } from '../../src/feed/interruption.ts'

const NOW = 1_795_222_584_000

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

function frameOf({ openedAt, isLate = false, before }: Case): [DataFrame, DataBefore | undefined] {
  const opened = openedAt === undefined ? undefined : NOW + openedAt
  const last = before && { receivedAt: NOW + before.receivedAt, isLate: before.isLate ?? false }
  return [{ receivedAt: NOW, isLate, openedAt: opened }, last]
}

// docs/faults.md, 38, 85, 98
for (const [name, each] of Object.entries(CASES)) {
  t.test(`${name}: ${each.shows ?? 'nothing was lost'}`, async t => {
    const shown = interruptionAt(...frameOf(each))
    const text =
      shown &&
      `${shown.isClockBack ? 'back, ' : ''}${shown.isSilence ? 'silence ' : ''}from ${shown.pricesFrom - NOW}${shown.isSeedWanted ? ', seeds' : ''}`
    t.equal(text, each.shows)
  })
}
