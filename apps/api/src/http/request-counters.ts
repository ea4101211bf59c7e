import type { Milliseconds } from '@kimchi/core'
import { DurationHistogram } from '@kimchi/runtime'

/** What responses are counted by: the two routes, and everything else. */
export type Route = 'live' | 'daily' | 'other'

/** Responses sent so far, with the time each took. */
export class RequestCounters {
  readonly #responses = new Map<Route, Map<number, DurationHistogram>>()

  /** Counts one response. @param ms from its request, 0 when there was none, only a connection */
  count(route: Route, status: number, ms: Milliseconds): void {
    const byStatus = this.#responses.get(route) ?? new Map<number, DurationHistogram>()
    const durations = byStatus.get(status) ?? new DurationHistogram()
    this.#responses.set(route, byStatus.set(status, durations))
    durations.observe(ms)
  }

  /** Each kind of response sent so far, and its times. */
  *read() {
    for (const [route, byStatus] of this.#responses)
      for (const [status, durations] of byStatus) yield { labels: { route, status }, ...durations.read() }
  }
}
