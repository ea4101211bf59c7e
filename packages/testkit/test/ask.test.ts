import { once } from 'node:events'
import { Agent, createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { ask } from '../src/ask.ts'

/** A server, and clients that keep one connection to it. */
async function open(t: Test, listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => {
    agent.destroy()
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, agent }
}

t.test('an answer comes as it was sent', async t => {
  const { port } = await open(t, (request, response) => {
    response.writeHead(404, { 'x-path': request.url }).end(request.headers.accept)
  })
  const { status, headers, body } = await ask(port, '//a/../b?c', { headers: { accept: 'x/y' } })
  t.strictSame([status, headers['x-path'], body.toString()], [404, '//a/../b?c', 'x/y'])
})

t.test('an answer that is cut off is an error', async t => {
  let requests = 0
  const { port, agent } = await open(t, (request, response) => {
    requests += 1
    if (requests === 1) response.end()
    else response.writeHead(200, { 'content-length': 9 }).write('half', () => request.socket.destroy())
  })
  await ask(port, '/', { agent })
  await t.rejects(ask(port, '/', { agent }), { code: 'ECONNRESET' })
  t.equal(requests, 2)
})
