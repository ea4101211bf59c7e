import { once } from 'node:events'
import { Agent, createServer, get, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Milliseconds } from '@kimchi/core'
import t, { type Test } from 'tap'
import { drain } from '../src/drain.ts'

async function listen(t: Test) {
  const server = createServer((_request, response) => response.end('here'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { server, port: (server.address() as AddressInfo).port }
}

/** What a request gets: the `Connection` header of its response, or the code of its error. */
async function ask(port: number, agent: Agent | false = false): Promise<string | undefined> {
  const request = get({ host: '127.0.0.1', port, agent, path: '/' })
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    await once(response.resume(), 'end')
    return response.headers.connection
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
}

const NEVER = new Promise<never>(() => {})

/** Drains on a clock whose waits last as long as `meanwhile`. @returns how long it waited in all */
async function drained(
  server: Server,
  meanwhile: (waited: Milliseconds) => Promise<void>,
  elapsed: () => Milliseconds = () => 0,
) {
  let waited: Milliseconds = 0
  const wait = async (ms: Milliseconds) => {
    await meanwhile(waited)
    waited += ms
  }
  await drain(server, { elapsed, now: () => waited, wait })
  return waited
}

t.test('a server that nobody is connected to still answers for a second', async t => {
  const { server, port } = await listen(t)
  const seen: unknown[] = []
  const waited = await drained(server, async at => {
    if (at === 1_000) await NEVER
    seen.push(await ask(port))
  })
  t.ok(seen.length > 0 && seen.every(connection => connection === 'close'), 'as the client asked')
  t.equal(waited, 1_000)
  t.equal(await ask(port), 'ECONNREFUSED')
})

t.test('a second as before, then no new connections, and each response is the last', async t => {
  const { server, port } = await listen(t)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.equal(await ask(port, agent), 'keep-alive')
  const both = async () => [await connects(port), await ask(port, agent)]
  const seen: unknown[] = []
  const waited = await drained(server, async at => {
    seen.push(both())
    await (at === 0 ? seen[0] : NEVER)
  })
  t.strictSame(await Promise.all(seen), [
    [true, 'keep-alive'],
    [false, 'close'],
  ])
  t.equal(waited, 1_000, 'nobody was left')
})

t.test('a client that connects while the listener closes is answered', async t => {
  const { server, port } = await listen(t)
  const staying = connect(port, '127.0.0.1')
  await once(server, 'connection')
  let last: Promise<unknown> | undefined
  await drained(server, async at => {
    if (at === 0) last = ask(port)
  })
  t.equal(await last, 'close')
  staying.destroy()
})

t.test('a server whose turns take long stops accepting after half a second', async t => {
  const { server } = await listen(t)
  let looks = 0
  await drained(
    server,
    async () => {},
    () => looks++ * 100,
  )
  t.equal(looks, 6)
})

t.test('a client that stays connected without a request is cut after two seconds', async t => {
  const { server, port } = await listen(t)
  const socket = connect(port, '127.0.0.1')
  const cut = once(socket.resume(), 'close', { signal: AbortSignal.timeout(60_000) })
  await once(server, 'connection')
  t.equal(await drained(server, async () => {}), 2_000)
  await cut
})

async function connects(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
