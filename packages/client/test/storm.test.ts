import { readFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import vm from 'node:vm'
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

// docs/faults.md, 69
t.test('both wait for whole seconds, hours of a 429 alone, and for nothing else', async t => {
  const date = new Date(M + 600_000).toUTCString()
  const cases: readonly (readonly [status: number, retryAfter: string, seconds: number | undefined])[] = [
    [429, '120', 120],
    [503, '120', 120],
    [503, '121', undefined],
    [429, '28800', 28_800],
    [429, '259201', undefined],
    [503, '28800', undefined],
    ...['1.5', '1e1', '5 s', '0', '-90', '', date, `${M / 1_000 + 600}`].map(
      text => [429, text, undefined] as const,
    ),
  ]
  for (const [status, retryAfter, seconds] of cases) {
    const server: Server = () => ({ status, retryAfter })
    const [first] = (await watchFor(3, server)).updates
    t.equal(first?.error?.retryAfterMs, seconds && seconds * 1_000, `${status} "${retryAfter}"`)
    const wait = (await runLoop(server, 1))[0]
    t.equal(
      wait,
      Math.min(Math.max(60, seconds ?? 0), 3_600) * 1_000,
      `${status} "${retryAfter}" in the loop`,
    )
  }
  const [busy, ill] = await Promise.all(
    [429, 503].map(status => watchFor(3, () => ({ status, retryAfter: '28800' }))),
  )
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
