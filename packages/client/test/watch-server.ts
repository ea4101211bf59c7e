import { type Clock, createClient, type LiveUpdate, utcMs } from '../src/index.ts'

/** The minute at which every scenario begins. */
export const M = 29_000_000 * 60_000

/** A watch that sends more is a storm. */
const MOST_REQUESTS = 1_000

/** A time as the API writes it. */
export const iso = (ms: number): string => new Date(ms).toISOString().slice(0, 19)

/** A server's answer: the list of a minute, perhaps an older copy from a cache, or a refusal. */
type Reply =
  | { minute: number; updatedAt?: string; sentAt?: number; ageSeconds?: number }
  | { status: number; retryAfter?: string }
  | 'gone'

export type Server = (now: number) => Reply

/** A service that publishes each minute 3 s after its end. */
export const steady = (now: number): { minute: number } => ({
  minute: Math.floor((now - 3_000) / 60_000) * 60_000,
})

/** What a watch did. Times and ages in seconds. */
export interface Watched {
  /** When requests were sent, after M. */
  readonly asked: readonly number[]
  readonly updates: readonly LiveUpdate[]
  /** At each update: how old the list is by the watcher's corrected clock, and how old it really is. */
  readonly ages: readonly { shown: number; real: number }[]
}

interface Scenario {
  /** How far the watcher's own clock is ahead at a time. */
  readonly skew?: (now: number) => number
  readonly startMs?: number
}

/** Watches a server on a clock of its own until M + `minutes`. */
export async function watchFor(
  minutes: number,
  server: Server,
  { skew = () => 0, startMs = 10_000 }: Scenario = {},
): Promise<Watched> {
  let now = M + startMs
  const asked: number[] = []
  const updates: LiveUpdate[] = []
  const ages: { shown: number; real: number }[] = []
  const abort = new AbortController()
  const clock: Clock = {
    now: () => now + skew(now),
    wait: async ms => {
      // A real timer runs after 1 ms when its time is out of range.
      now += ms >= 1 && ms < 2 ** 31 ? ms : 1
      if (now > M + minutes * 60_000 || asked.length > MOST_REQUESTS) abort.abort()
    },
  }
  const client = createClient({
    baseUrl: 'http://service.test/api/v1',
    clock,
    random: () => 0.5,
    fetch: async () => {
      asked.push(Math.round((now - M) / 100) / 10)
      return responseOf(server(now), now)
    },
  })
  const onUpdate = (update: LiveUpdate) => {
    const minute = utcMs(update.list?.updated_at ?? '')
    const shown = clock.now() + update.clockOffsetMs - minute
    updates.push(update)
    ages.push({ shown: shown / 1_000, real: (now - minute) / 1_000 })
  }
  await client.watch(onUpdate, { signal: abort.signal })
  return { asked, updates, ages }
}

/** @throws TypeError, as fetch does, for a server that is gone */
export function responseOf(reply: Reply, now: number): Response {
  if (reply === 'gone') throw new TypeError('fetch failed')
  const isRefused = 'status' in reply
  const sentAt = isRefused ? now : (reply.sentAt ?? now)
  const headers = new Headers({ date: new Date(sentAt).toUTCString() })
  if (isRefused) {
    if (reply.retryAfter !== undefined) headers.set('retry-after', reply.retryAfter)
    return new Response('{}', { status: reply.status, headers })
  }
  if (reply.ageSeconds !== undefined) headers.set('age', `${reply.ageSeconds}`)
  const updated_at = reply.updatedAt ?? iso(reply.minute)
  return new Response(JSON.stringify({ result: 'ok', updated_at, count: 0, note: '', data: [] }), { headers })
}
