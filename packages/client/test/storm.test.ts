import { readFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import vm from 'node:vm'
import { retryAfterCases } from '@kimchi/testkit'
import t from 'tap'
import { iso, M, responseOf, type Server, watchFor } from './watch-server.ts'

const SECOND_MS = 1_000
const HOUR_MS = 3_600_000

const RETRY_AFTER = [
  ...['0', '-5', '0.001', 'soon', '', '5 s', 'Infinity', '9'.repeat(30), '9'.repeat(400)],
  'Fri, 21 Nov 2014 08:00:00 GMT',
  'Fri, 21 Nov 3014 08:00:00 GMT',
]
const UPDATED_AT = ['', 'yesterday', '2026-13-45T99:99:99', '0001-01-01T00:00:00', '9999-12-31T23:59:00', '5']

const servers: readonly { readonly title: string; readonly server: Server }[] = [
  ...[429, 503].flatMap(status =>
    RETRY_AFTER.map(retryAfter => ({
      title: `${status} and Retry-After: ${retryAfter.slice(0, 30)}`,
      server: () => ({ status, retryAfter }),
    })),
  ),
  ...UPDATED_AT.map(updatedAt => ({
    title: `updated_at: ${updatedAt}`,
    server: () => ({ minute: M, updatedAt }),
  })),
  {
    title: 'updated_at that is almost due, another each time',
    server: now => ({ minute: M, updatedAt: iso(now - 65_000 - (now % 7) * 1_001) }),
  },
]

// docs/faults.md, 69
t.test('watch() waits 1 s to 1 h', async t => {
  for (const { title, server } of servers) {
    const waits = (await watchFor(600, server)).updates.map(({ nextInMs }) => nextInMs)
    t.ok(waits.every(isBounded), `${title}: ${waits.slice(0, 5)}`)
  }
})

// docs/faults.md, 69
t.test('the loop of docs/callers.md waits 1 s to 1 h', async t => {
  for (const { title, server } of servers) {
    const waits = await runLoop(server, 50)
    t.ok(waits.length === 50 && waits.every(isBounded), `${title}: ${waits.slice(0, 5)}`)
  }
})

t.test('both wait until the date in a Retry-After', async t => {
  const until = new Date(M + 600_000).toUTCString()
  const busy: Server = () => ({ status: 429, retryAfter: until })
  const { updates } = await watchFor(5, busy)
  t.ok(Math.abs((updates[0]?.nextInMs ?? 0) - 590_000) <= 5_000, `${updates[0]?.nextInMs}`)
  t.equal((await runLoop(busy, 1))[0], 590_000)
})

// docs/faults.md, 102
t.test('both read a Retry-After in one way, and believe hours of a 429 alone', async t => {
  for (const [retryAfter, seconds = 0] of retryAfterCases(M + 10_000)) {
    const server: Server = () => ({ status: 429, retryAfter })
    const least = Math.max(60_000, seconds * 1_000)
    const [first] = (await watchFor(3, server)).updates
    t.equal(first?.error?.retryAfterMs, seconds === 0 ? undefined : seconds * 1_000, `"${retryAfter}"`)
    t.equal((await runLoop(server, 1))[0], least, `"${retryAfter}"`)
  }
  const waits = [429, 503].map(status => ({ status, retryAfter: '28800' }))
  t.strictSame(await Promise.all(waits.map(async reply => (await runLoop(() => reply, 1))[0])), [
    HOUR_MS,
    60_000,
  ])
  const [busy, ill] = await Promise.all(waits.map(reply => watchFor(3, () => reply)))
  t.equal(busy?.updates[0]?.nextInMs, HOUR_MS)
  t.ok(isAMinute(ill?.updates[0]?.nextInMs))
})

function isAMinute(ms: number | undefined): boolean {
  return ms !== undefined && ms >= 60_000 && ms <= 65_000
}

function isBounded(ms: number): boolean {
  return ms >= SECOND_MS && ms <= HOUR_MS
}

/** Runs the documented loop on a clock of its own for some rounds. Gives its waits in milliseconds. */
async function runLoop(server: Server, rounds: number): Promise<readonly number[]> {
  const guide = readFileSync(new URL('../../../docs/callers.md', import.meta.url), 'utf8')
  const [, code] = /```js loop\n(.*?)```/s.exec(guide) ?? []
  const waits: number[] = []
  let now = M + 10_000
  class LoopDate extends Date {
    static override now = () => now
  }
  const context = {
    fetch: async () => responseOf(server(now), now),
    setTimeout: (done: () => void, ms: number) => {
      waits.push(ms)
      // A real timer runs after 1 ms when its time is out of range.
      now += ms >= 1 && ms < 2 ** 31 ? ms : 1
      if (waits.length < rounds) setImmediate(done)
    },
    console: { log: () => {} },
    AbortSignal,
    Date: LoopDate,
  }
  void vm.runInNewContext(`(async () => {${code}})()`, context)
  while (waits.length < rounds) await turn()
  return waits
}
