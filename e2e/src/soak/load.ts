import { setTimeout as delay } from 'node:timers/promises'

/** What callers met so far. */
export interface LoadCounts {
  readonly requests: number
  /** Requests without a 200 or 304, and answers that are not what they should be. */
  readonly failed: number
  /** The first few failures, in words. */
  readonly failures: readonly string[]
}

/** Callers that go on until they are closed. */
export interface Load {
  counts(): LoadCounts
  close(): Promise<void>
}

/** Who calls, and what. */
export interface LoadOptions {
  readonly port: number
  readonly coins: readonly string[]
  /** @default 20 */
  readonly callers?: number
  /** Requests per second of all callers together. @default 100 */
  readonly perSecond?: number
  readonly random: () => number
}

const LIVE = '/api/v1/kimchi-premium'
const CODINGS = ['br', 'gzip', 'identity']
const FAILURES_KEPT = 10

/**
 * Opens callers on kept connections: mostly the live list, some histories; some with the tag they got last.
 */
export function openLoad({ port, coins, callers = 20, perSecond = 100, random }: LoadOptions): Load {
  const closing = new AbortController()
  const failures: string[] = []
  let requests = 0
  let failed = 0

  async function call(): Promise<void> {
    const tags = new Map<string, string>()
    while (!closing.signal.aborted) {
      const path = pathOf(coins, random)
      const tag = tags.get(path)
      const headers = {
        'accept-encoding': CODINGS[Math.floor(random() * CODINGS.length)] ?? 'br',
        ...(tag !== undefined && random() < 0.5 ? { 'if-none-match': tag } : {}),
      }
      const outcome = await get(`http://127.0.0.1:${port}${path}`, headers).catch(String)
      requests += 1
      if (typeof outcome !== 'string') tags.set(path, outcome.tag)
      else {
        failed += 1
        if (failures.length < FAILURES_KEPT) failures.push(`${path}: ${outcome}`)
      }
      await delay((random() * 2_000 * callers) / perSecond)
    }
  }
  const running = Array.from({ length: callers }, call)
  return {
    counts: () => ({ requests, failed, failures }),
    close: async () => {
      closing.abort()
      await Promise.all(running)
    },
  }
}

function pathOf(coins: readonly string[], random: () => number): string {
  const coin = coins[Math.floor(random() * coins.length)]
  const kind = random()
  if (kind < 0.8) return LIVE
  return kind < 0.95
    ? `${LIVE}/${coin}/daily`
    : `${LIVE}/${coin}/daily?days=${1 + Math.floor(random() * 365)}`
}

/** The entity tag of a good answer, or what is wrong with it. */
async function get(url: string, headers: Record<string, string>): Promise<{ tag: string } | string> {
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(10_000) })
  const { byteLength } = await response.arrayBuffer()
  const isGood = response.status === 304 || (response.status === 200 && byteLength > 0)
  return isGood ? { tag: response.headers.get('etag') ?? '' } : `${response.status} with ${byteLength} bytes`
}
