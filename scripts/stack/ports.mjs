import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * The wanted port when it is free. A taken default is replaced by a free port, and that is said; a taken port that was
 * asked for by name is an error.
 * @param {string} name what the port is for, as its variable is called
 * @param {string | undefined} asked the port somebody asked for
 * @param {number} preferred the default
 * @param {(line: string) => void} say
 * @returns {Promise<number>}
 */
export async function pickPort(name, asked, preferred, say) {
  if (asked) {
    const port = Number(asked)
    if (!/^\d+$/.test(asked) || port > 65_535) throw new Error(`${name} must be an integer from 0 to 65535, got: ${asked}`)
    if (!(await isFree(port))) throw new Error(`${name}=${asked} is taken; end what listens there or choose another`)
    return port || freePort()
  }
  if (await isFree(preferred)) return preferred
  const port = await freePort()
  say(`Port ${preferred} is taken; using ${port} for ${name}.`)
  return port
}

/** @returns {Promise<number>} a port nobody listens on at this moment */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port could be had')
  return address.port
}

/** @param {number} port @returns {Promise<boolean>} */
function isFree(port) {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
