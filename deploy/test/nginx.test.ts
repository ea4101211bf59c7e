import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { lacksNginx, openEdge } from '@kimchi/e2e/edge'
import { ask } from '@kimchi/testkit'
import t from 'tap'

t.test(
  'a page is sent anew when the address in it has changed, and a picture is not',
  { skip: lacksNginx },
  async t => {
    const page = t.testdir({ 'index.html': 'https://premium.example', 'og.png': 'a picture' })
    // The edge is open when its API says that it has no such route.
    const api = createServer((_request, response) => response.writeHead(404).end()).listen(0, '127.0.0.1')
    t.teardown(() => api.close())
    await once(api, 'listening')
    const { port: apiPort } = api.address() as AddressInfo
    const edge = await openEdge(t, { addresses: ['127.0.0.1'], apiPort, page })
    /** Asks again as a browser does that has kept the first answer. */
    const askAgain = async (path: string, changed: Record<string, string>) => {
      const headers = { host: 'mine.example' }
      const { etag = '', 'last-modified': date = '' } = (await ask(edge.port, path, { headers })).headers
      const known = { ...(etag && { 'if-none-match': etag }), ...(date && { 'if-modified-since': date }) }
      const { status, body } = await ask(edge.port, path, { headers: { ...headers, ...known, ...changed } })
      return `${status} ${body}`
    }
    t.equal(await askAgain('/', { 'x-forwarded-proto': 'https' }), '200 https://mine.example')
    t.equal(await askAgain('/og.png', {}), '304 ')
  },
)
