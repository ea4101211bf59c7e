/** What responses are counted by: the two routes, and everything else. */
const ROUTES = ['live', 'daily', 'other'] as const

/** One of the two routes, or everything else. */
export type Route = (typeof ROUTES)[number]

/**
 * Responses sent so far. Plain arrays, because a labelled metric per request costs more than the response
 * itself.
 */
export interface RequestCounters {
  readonly responses: Readonly<Record<Route, Float64Array>>
  /** Connections turned away or cut, by reason. */
  readonly cut: Record<'limit' | 'slow-reader' | 'malformed', number>
}

/** Counters at zero. */
export function createRequestCounters(): RequestCounters {
  return {
    responses: { live: new Float64Array(600), daily: new Float64Array(600), other: new Float64Array(600) },
    cut: { limit: 0, 'slow-reader': 0, malformed: 0 },
  }
}

/** Counts one response. */
export function countResponse({ responses }: RequestCounters, route: Route, status: number): void {
  responses[route][status] = (responses[route][status] ?? 0) + 1
}

/** All counts above zero. */
export function* countedResponses({
  responses,
}: RequestCounters): Generator<{ route: Route; status: number; count: number }> {
  for (const route of ROUTES) {
    for (const [status, count] of responses[route].entries()) if (count > 0) yield { route, status, count }
  }
}
