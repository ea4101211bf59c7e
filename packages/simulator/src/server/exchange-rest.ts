/** One REST response before it is written to the socket. */
export interface RestResponse {
  readonly status: number
  /** Written as JSON. */
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** One exchange's REST. */
export interface ExchangeRest {
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
