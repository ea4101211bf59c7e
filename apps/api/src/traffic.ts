/** What the counts are kept by: the two routes, and everything else. */
export const ROUTES = ['live', 'daily', 'other'] as const

/** @see ROUTES */
export type Route = (typeof ROUTES)[number]

/** Answers sent so far. Plain arrays, because a labelled metric per request costs more than the answer itself. */
export interface Traffic {
  readonly counts: Readonly<Record<Route, Float64Array>>
  /** Connections turned away or cut, by reason. */
  readonly cut: Record<'limit' | 'slow-reader' | 'malformed', number>
}

/** Counters at zero. */
export function newTraffic(): Traffic {
  return {
    counts: { live: new Float64Array(600), daily: new Float64Array(600), other: new Float64Array(600) },
    cut: { limit: 0, 'slow-reader': 0, malformed: 0 },
  }
}

/** Counts one answer. */
export function countAnswer({ counts }: Traffic, route: Route, status: number): void {
  counts[route][status] = (counts[route][status] ?? 0) + 1
}

/** All counts above zero. */
export function* answersCounted({
  counts,
}: Traffic): Generator<{ route: Route; status: number; count: number }> {
  for (const route of ROUTES) {
    for (const [status, count] of counts[route].entries()) if (count > 0) yield { route, status, count }
  }
}
