import type { ServerResponse } from 'node:http'
import { createDurationHistogram, type DurationHistogram } from '@kimchi/runtime'

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
  /** From a request to its response. */
  readonly durations: Readonly<Record<Route, DurationHistogram>>
  /** Connections turned away or cut, by reason. */
  readonly cut: Record<'limit' | 'slow-reader' | 'malformed', number>
}

/** A response that knows when its request had come, by `performance.now()`. */
interface TimedResponse extends ServerResponse {
  startedAt?: number
}

/** Counters at zero. */
export function createRequestCounters(): RequestCounters {
  return {
    responses: { live: new Float64Array(600), daily: new Float64Array(600), other: new Float64Array(600) },
    durations: {
      live: createDurationHistogram(),
      daily: createDurationHistogram(),
      other: createDurationHistogram(),
    },
    cut: { limit: 0, 'slow-reader': 0, malformed: 0 },
  }
}

/** Notes that the request of this response has come. */
export function stamp(response: ServerResponse): void {
  ;(response as TimedResponse).startedAt = performance.now()
}

/** Counts one response, and its time. @param response undefined when there was no request, only a connection */
export function countResponse(
  { responses, durations }: RequestCounters,
  route: Route,
  status: number,
  response?: ServerResponse,
): void {
  responses[route][status] = (responses[route][status] ?? 0) + 1
  const startedAt = (response as TimedResponse | undefined)?.startedAt
  if (startedAt !== undefined) durations[route].observe(performance.now() - startedAt)
}

/** How long requests took, by route. */
export function requestDurations({ durations }: RequestCounters) {
  return ROUTES.map(route => [{ route }, durations[route].read()] as const)
}

/** All counts above zero. */
export function* countedResponses({
  responses,
}: RequestCounters): Generator<{ route: Route; status: number; count: number }> {
  for (const route of ROUTES) {
    for (const [status, count] of responses[route].entries()) if (count > 0) yield { route, status, count }
  }
}
