import { setTimeout as delay } from 'node:timers/promises'

const LIVE = '/api/v1/kimchi-premium'
const CODINGS = ['br', 'gzip', 'identity']
const CALLERS = 20
/** Requests per second of all callers together. */
const PER_SECOND = 100
const FAILURES_KEPT = 10

/**
 * Opens callers on kept connections, who ask until they are closed: mostly for the live list, sometimes for
 * histories; some with the tag that they got last.
 */
export function openLoad(port: number, coins: readonly string[]) {
  const closing = new AbortController()
  /** `failed` counts requests without a 200 or 304 and empty answers; `failures` are the first few in words. */
  const counts = { requests: 0, failed: 0, failures: [] as string[] }

  async function call(): Promise<void> {
    const tags = new Map<string, string>()
    while (!closing.signal.aborted) {
      const path = pathOf(coins)
      const tag = tags.get(path)
      const headers = {
        'accept-encoding': CODINGS[Math.floor(Math.random() * CODINGS.length)] ?? 'br',
        ...(tag !== undefined && Math.random() < 0.5 ? { 'if-none-match': tag } : {}),
      }
      const outcome = await get(`http://127.0.0.1:${port}${path}`, headers).catch(String)
      counts.requests += 1
      if (typeof outcome !== 'string') tags.set(path, outcome.tag)
      else {
        counts.failed += 1
        if (counts.failures.length < FAILURES_KEPT) counts.failures.push(`${path}: ${outcome}`)
      }
      await delay((Math.random() * 2_000 * CALLERS) / PER_SECOND)
    }
  }
  const running = Array.from({ length: CALLERS }, call)
  return {
    counts,
    close: async () => {
      closing.abort()
      await Promise.all(running)
    },
  }
}

function pathOf(coins: readonly string[]): string {
  const coin = coins[Math.floor(Math.random() * coins.length)]
  const kind = Math.random()
  if (kind < 0.8) return LIVE
  return kind < 0.95
    ? `${LIVE}/${coin}/daily`
    : `${LIVE}/${coin}/daily?days=${1 + Math.floor(Math.random() * 365)}`
}

/** The entity tag of a good answer, or what is wrong with it. */
async function get(url: string, headers: Record<string, string>): Promise<{ tag: string } | string> {
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(10_000) })
  const { byteLength } = await response.arrayBuffer()
  const isGood = response.status === 304 || (response.status === 200 && byteLength > 0)
  return isGood ? { tag: response.headers.get('etag') ?? '' } : `${response.status} with ${byteLength} bytes`
}
