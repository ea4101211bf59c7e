import { settingError } from '@kimchi/core'

/** Where a server listens, as `listen` of node:net takes it. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** Errors about the port; any other is about the address. */
const OF_THE_PORT = ['EADDRINUSE', 'EACCES']

/**
 * Lets a server listen where its settings say.
 * @param name the port's variable, `PORT` or one that ends in `_PORT`; the host's has the same beginning
 * @throws KimchiError `KIMCHI_ERR_CONFIG` naming the one of the two that cannot be used; `cause.code` is the system's
 */
export async function listenAt(
  name: string,
  { host, port }: Address,
  listen: (address: Address) => Promise<unknown>,
): Promise<void> {
  try {
    // Without a host Node listens on every address, also where there is no IPv6.
    await listen({ host: host === '::' ? '' : host, port })
  } catch (error) {
    if (OF_THE_PORT.includes(String((error as { code?: unknown }).code))) {
      const allowed = 'a port that nothing else listens on, for most users above 1023'
      throw settingError(name, allowed, `${port} on ${host}`, error)
    }
    const allowed = 'unset or an address of this machine, such as 127.0.0.1'
    throw settingError(name.replace(/PORT$/, 'HOST'), allowed, host, error)
  }
}
