import t, { type Test } from 'tap'
import { createClient } from '../src/index.ts'
import { M, responseOf, type Server, steady, type Watched, watchFor } from './watch-server.ts'

const MINUTE = 60_000

/** Every age from update `from` on is right to the second. */
function areRight(t: Test, { ages }: Watched, from = 0) {
  t.ok(ages.length > from, 'there are updates')
  t.ok(
    ages.slice(from).every(({ shown, real }) => Math.abs(shown - real) <= 1),
    JSON.stringify(ages.slice(from)),
  )
}

t.test('a clock that is behind is corrected by the first answer', async t => {
  areRight(t, await watchFor(4, steady, { skew: () => -10 * MINUTE }))
})

t.test('a clock that is ahead makes data look older, until the second answer corrects it', async t => {
  const watched = await watchFor(4, steady, { skew: () => 10 * MINUTE })
  t.equal(watched.ages[0]?.shown, (watched.ages[0]?.real ?? 0) + 600)
  areRight(t, watched, 1)
})

// docs/faults.md, 68
t.test('a copy that a cache hands out for an hour grows old, whatever the clock', async t => {
  const stuckAt = M + 68_000
  const stuck: Server = now => (now < stuckAt ? steady(now) : { minute: M + MINUTE, sentAt: stuckAt })
  for (const minutes of [0, -10, 10]) {
    const options = { skew: () => minutes * MINUTE, startMs: -2 * MINUTE }
    const watched = await watchFor(61, stuck, options)
    t.ok((watched.ages.at(-1)?.real ?? 0) > 3_500)
    areRight(t, watched, 1)
  }
})

// docs/faults.md, 68
t.test('with a right clock a copy that is old already shows its age at once', async t => {
  const stuck: Server = () => ({ minute: M, sentAt: M + 2_000 })
  const watched = await watchFor(60, stuck, { startMs: 155_000 })
  t.equal(watched.ages[0]?.shown, 155)
  areRight(t, watched)
})

t.test('counts the Age of a copy', async t => {
  const cached: Server = now => ({ ...steady(now), sentAt: now - 40_000, ageSeconds: 40 })
  areRight(t, await watchFor(4, cached, { skew: () => -30_000 }))
  areRight(t, await watchFor(4, cached, { skew: () => 10 * MINUTE }), 1)
})

t.test('copies up to a minute old do not change the clock', async t => {
  const cached: Server = now => ({ ...steady(now), sentAt: now - MINUTE })
  areRight(t, await watchFor(10, cached))
})

t.test('a clock that is set right while watching is trusted again', async t => {
  const skew = (now: number) => (now < M + 2 * MINUTE ? -10 * MINUTE : 0)
  areRight(t, await watchFor(6, steady, { skew }), 4)
})

t.test('with a clock that is an hour wrong, requests come at the same times', async t => {
  for (const skewMs of [60 * MINUTE, -60 * MINUTE]) {
    const { asked, updates } = await watchFor(4, steady, { skew: () => skewMs })
    t.equal(asked.length, 4)
    t.ok(
      asked.slice(1).every((at, index) => at >= 65 + index * 60 && at <= 70 + index * 60),
      `${asked}`,
    )
    t.ok(Math.abs((updates.at(-1)?.clockOffsetMs ?? 0) + skewMs) <= 1_000)
  }
})

t.test('a second watch of the same client knows the clock from the first', async t => {
  let now = M + 10_000
  let abort = new AbortController()
  const client = createClient({
    baseUrl: 'http://service.test/api/v1',
    clock: {
      now: () => now + 10 * MINUTE,
      wait: async () => {
        now += MINUTE
        if (now > M + 2 * MINUTE) abort.abort()
      },
    },
    fetch: async () => responseOf(steady(now), now),
  })
  await client.watch(() => {}, { signal: abort.signal })
  abort = new AbortController()
  await client.watch(({ clockOffsetMs }) => t.equal(clockOffsetMs, -10 * MINUTE), { signal: abort.signal })
})
