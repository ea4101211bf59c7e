import type { Connection } from './connection.ts'

/** Every key, a code or a stream, with the connections that listen to it. */
export function subscribersByKey<C>(
  clients: ReadonlyMap<Connection, C>,
  keysOf: (client: C) => Iterable<string>,
): Map<string, Connection[]> {
  const byKey = new Map<string, Connection[]>()
  for (const [connection, client] of clients) {
    for (const key of keysOf(client)) {
      const known = byKey.get(key)
      if (known) known.push(connection)
      else byKey.set(key, [connection])
    }
  }
  return byKey
}
