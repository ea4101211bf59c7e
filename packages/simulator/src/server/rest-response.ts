/** One REST response before it is written to the socket. */
export interface RestResponse {
  readonly status: number
  /** Written as JSON. */
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Responds to a GET of an exchange. @param caller its address, for limits */
export type RestHandler = (url: URL, caller: string) => RestResponse

/** A whole number from a query, `fallback` when it is absent, NaN when it is not one. */
export function wholeNumber(text: string | null, fallback: number): number {
  if (text === null || text === '') return fallback
  return /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
}
