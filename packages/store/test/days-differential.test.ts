import { dateOf, dayStart, foldDays } from '@kimchi/core'
import fc from 'fast-check'
import t from 'tap'
import { encodeSample } from '../src/codec.ts'
import { dailyKey, mendUncounted, openStore, sampleOf, samplesKey } from './fixtures.ts'

/** Minutes of two days, two hours each. */
const MINUTES = [0, 1, 2, 60, 61, 1_440, 1_441, 1_500]

/** What a day must be, written without a look at the library: minutes, odd members and the row's count. */
interface ModelDay {
  readonly stored: Set<number>
  readonly odd: Map<string, number>
  /** Undefined when the row is lost. */
  counted: number | undefined
  last: number
}

/** Every second step is a write. */
const STEP = fc.record({
  at: fc.constantFrom(...MINUTES),
  operation: fc.oneof(fc.constant(0), fc.nat({ max: 6 })),
  member: fc.nat({ max: 2 }),
})

class Model {
  readonly #days = new Map<number, ModelDay>()

  day(minute: number): ModelDay {
    const start = dayStart(minute)
    const day = this.#days.get(start) ?? { stored: new Set(), odd: new Map(), counted: 0, last: -1 }
    this.#days.set(start, day)
    return day
  }

  members({ stored, odd }: ModelDay): number {
    return stored.size + odd.size
  }

  write(minute: number): string {
    const day = this.day(minute)
    if (day.stored.has(minute) || [...day.odd.values()].includes(minute)) return 'duplicate'
    const { counted } = day
    if (counted !== undefined && counted > 0 && minute <= day.last && this.members(day) < counted)
      return 'frozen'
    // A row that was lost stays lost while anything is stored of its day.
    if (counted !== undefined || this.members(day) === 0) {
      day.counted = (counted ?? 0) + 1
      day.last = Math.max(counted ? day.last : -1, minute)
    }
    day.stored.add(minute)
    return 'stored'
  }

  mend(day: ModelDay): void {
    const isFrozen = day.counted !== undefined && this.members(day) < day.counted
    day.odd.clear()
    if (isFrozen) return
    day.counted = day.stored.size
    day.last = Math.max(-1, ...day.stored)
  }

  mendUncounted(from: number): void {
    const days = [0, 1_440].map(at => this.day(from + at))
    for (const day of days) if (this.members(day) > (day.counted ?? 0)) this.mend(day)
  }

  loseHour(minute: number): void {
    const day = this.day(minute)
    const isInHour = (other: number) => Math.floor(other / 60) === Math.floor(minute / 60)
    for (const other of day.stored) if (isInHour(other)) day.stored.delete(other)
    for (const [member, other] of day.odd) if (isInHour(other)) day.odd.delete(member)
  }
}

for (const seed of [1, 2, 3]) {
  // docs/faults.md, 5, 43 and 115
  t.test(`rows, samples and open minutes are as a model says, whatever happens; seed ${seed}`, async t => {
    const { writer, reader, raw, today } = await openStore(t, { coins: [] })
    const from = today - 2 * 1_440
    const model = new Model()
    const keyOf = (minute: number) =>
      samplesKey('BTC', dateOf(minute), Math.floor((minute - dayStart(minute)) / 60))
    const operations: ((minute: number, member: number) => Promise<void>)[] = [
      async minute => {
        const expected = model.write(minute)
        const result = await writer.write({ minute, samples: [sampleOf('BTC', minute)] })
        const [refused] = result.refused
        t.equal(refused?.reason ?? (result.stored ? 'stored' : 'duplicate'), expected)
      },
      async minute => {
        model.loseHour(minute)
        await raw.del(keyOf(minute))
      },
      async (minute, number) => {
        const member = `odd ${number}`
        const { odd } = model.day(minute)
        const name = `${keyOf(minute)} ${member}`
        odd.set(name, minute)
        await raw.zadd(keyOf(minute), minute, member)
      },
      async minute => {
        const day = model.day(minute)
        // The live sample of the model is not the smaller one, so a candle of that minute is the odd one.
        if (!day.stored.has(minute)) return
        day.odd.set(`${keyOf(minute)} candle ${minute}`, minute)
        await raw.zadd(
          keyOf(minute),
          minute,
          encodeSample({ ...sampleOf('BTC', minute, 5), source: 'candle' }),
        )
      },
      async minute => {
        model.day(minute).counted = undefined
        await raw.hset(dailyKey('BTC'), dateOf(minute), 'garbage')
      },
      async minute => {
        model.mend(model.day(minute))
        model.mendUncounted(from)
        await writer.mendDays('BTC', (dayStart(minute) / 1_440) % 400, 400)
      },
      async () => {
        model.mendUncounted(from)
        await mendUncounted(writer, 'BTC')
      },
    ]
    for (const [step, { at, operation, member }] of fc.sample(STEP, { seed, numRuns: 400 }).entries()) {
      await operations[operation]?.(from + at, member)
      for (const at of [0, 1_440]) {
        const day = model.day(from + at)
        const row = await raw.hget(dailyKey('BTC'), dateOf(from + at))
        const counted = row === 'garbage' ? undefined : Number(/"samples":(\d+)/.exec(row ?? '')?.[1] ?? 0)
        if (counted !== day.counted) t.fail(`step ${step}: the row counts ${counted}, not ${day.counted}`)
      }
    }
    for (const at of [0, 1_440]) model.mend(model.day(from + at))
    await writer.mendDays('BTC', 0, 1)
    const days = (await reader.readDays('BTC')).entries
    const { entries } = await reader.readSamples('BTC', from, from + 2_880)
    const stored = [0, 1_440].flatMap(at => [...model.day(from + at).stored])
    t.strictSame(
      entries.map(({ minute }) => minute),
      stored.sort((a, b) => a - b),
    )
    for (const at of [0, 1_440]) {
      const { counted } = model.day(from + at)
      const day = days.find(({ date }) => date === dateOf(from + at))
      t.equal(day?.samples ?? 0, counted)
      const [fold] = foldDays(entries.filter(({ minute }) => dayStart(minute) === from + at))
      if (counted === (fold?.samples ?? 0)) t.strictSame(day, fold)
    }
  })
}
