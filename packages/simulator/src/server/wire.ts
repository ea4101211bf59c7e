import type { IncomingMessage } from 'node:http'
import type { EpochMs, Milliseconds } from '../market/types.ts'

const BASE = 'http://simulator'

/** The address that a client asks for; the root for one that cannot be read. */
export function urlOf({ url = '' }: IncomingMessage): URL {
  return URL.canParse(url, BASE) ? new URL(url, BASE) : new URL(BASE)
}

/** One REST response before it is written to the socket. */
export interface RestResponse {
  readonly status: number
  /** Written as JSON. */
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface RestSide {
  /** Responds to a GET. @param caller its address, for limits */
  respond(url: URL, caller: string): RestResponse
  /** What the exchange writes with a status that a fault asks for. */
  refusalBody(status: number): unknown
}

/** A whole number from a query, `fallback` when it is absent, NaN when it is not one. */
export function wholeNumber(text: string | null, fallback: number): number {
  if (text === null || text === '') return fallback
  return /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
}

/** A client's message; undefined when it is no JSON, since the exchanges refuse that like any bad request. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Counts for limits: adds a caller's weight and returns its sum in the present window of the clock. Windows are
 * `windowMs` long and begin at multiples of it.
 */
export function createWindowCounter(windowMs: Milliseconds) {
  let current = -1
  let sums = new Map<string, number>()
  return (caller: string, now: EpochMs, weight = 1): number => {
    const index = Math.floor(now / windowMs)
    if (index !== current) {
      current = index
      sums = new Map()
    }
    const sum = (sums.get(caller) ?? 0) + weight
    sums.set(caller, sum)
    return sum
  }
}
