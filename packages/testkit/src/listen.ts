import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import type { Teardown } from './teardown.ts'

/** Has a server listen on a free port of this machine, which it gives; its connections end with the test. */
export async function listen(
  t: Teardown,
  server: Server & { closeAllConnections?(): void },
  host = '127.0.0.1',
): Promise<number> {
  t.teardown(() => {
    server.close()
    server.closeAllConnections?.()
  })
  await once(server.listen(0, host), 'listening')
  return (server.address() as AddressInfo).port
}
