import { setTimeout as delay } from 'node:timers/promises'

/** Asks again and again until the answer is not undefined. @throws when that takes longer than `withinMs` */
export async function eventually<T>(
  what: string,
  withinMs: number,
  ask: () => Promise<T | undefined>,
): Promise<T> {
  const until = performance.now() + withinMs
  while (performance.now() < until) {
    const answer = await ask()
    if (answer !== undefined) return answer
    await delay(50)
  }
  throw new Error(`not within ${withinMs} ms: ${what}`)
}

/** The parsed JSON answer of a GET with its status, or undefined when there is no response. */
export async function getJson<T>(url: string): Promise<{ status: number; body: T } | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
    return { status: response.status, body: (await response.json()) as T }
  } catch {
    return undefined
  }
}
