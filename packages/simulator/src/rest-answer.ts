/** One REST answer before it is written to the socket. */
export interface RestAnswer {
  readonly status: number
  /** Written as JSON. */
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Answers a GET of an exchange; undefined when the path is none of its. */
export type RestHandler = (url: URL, caller: string, headers: RestHeaders) => RestAnswer | undefined

/** What a handler may read of the request's headers. */
export interface RestHeaders {
  readonly origin?: string | undefined
}

/** A whole number from a query, `fallback` when it is absent, NaN when it is none. */
export function wholeNumber(text: string | null, fallback: number): number {
  if (text === null || text === '') return fallback
  return /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
}
