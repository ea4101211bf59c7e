/**
 * A request header straight from what was received, several of the name joined by commas; undefined when there is none.
 * Node's own `headers` builds an object of all of them first, which costs more than everything else we do per request.
 * Node from 24.12 on has built it by then.
 * @param name in lower case
 */
export function headerOf(rawHeaders: readonly string[], name: string): string | undefined {
  let found: string | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const candidate = rawHeaders[index]
    if (candidate?.length !== name.length || candidate.toLowerCase() !== name) continue
    found = found === undefined ? rawHeaders[index + 1] : `${found}, ${rawHeaders[index + 1]}`
  }
  return found
}
