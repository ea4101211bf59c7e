/** A client's message; undefined when it is no JSON, since the exchanges refuse that like any bad request. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
