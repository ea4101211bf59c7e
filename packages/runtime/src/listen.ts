import { KimchiError, messageOf } from '@kimchi/core'

/** Where a server listens, as `listen` of node:net takes it. */
export interface Address {
  readonly host: string
  readonly port: number
}

/**
 * Lets a server listen where its settings say.
 * @param setting the name of the port's variable
 * @throws KimchiError `KIMCHI_ERR_CONFIG` naming it when the port or the address cannot be bound
 */
export async function listenAt(
  setting: string,
  { host, port }: Address,
  listen: (address: Address) => Promise<unknown>,
): Promise<void> {
  try {
    // Without a host Node listens on every address, also where there is no IPv6.
    await listen({ host: host === '::' ? '' : host, port })
  } catch (error) {
    const message = `${setting} must be a port that can be listened on, got: ${port} on ${host} (${messageOf(error)})`
    throw new KimchiError('KIMCHI_ERR_CONFIG', message, { cause: error })
  }
}
