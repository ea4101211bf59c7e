import type { IncomingMessage } from 'node:http'

const BASE = 'http://simulator'

/** The address that a client asks for; the root for one that cannot be read. */
export function urlOf({ url = '' }: IncomingMessage): URL {
  return URL.canParse(url, BASE) ? new URL(url, BASE) : new URL(BASE)
}

/** A client's message; undefined when it is no JSON, since the exchanges refuse that like any bad request. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
