import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { ask, eventually, listen, type Teardown } from '@kimchi/testkit'
import t from 'tap'
import { openEdge, lacksNginx as skip } from '../src/edge.ts'
import { CODES, type Reply } from '../src/name-server.ts'

/** How long an edge may take to find a replica. */
const SOON_MS = 10_000

const IPV6_ANSWERS: Readonly<Record<string, Reply>> = {
  ...CODES,
  nothing: undefined,
  'an A record': ['127.0.0.1'],
}

for (const [form, ipv6] of Object.entries(IPV6_ANSWERS)) {
  t.test(`a fresh edge reaches a replica whose name server answers ${form} for IPv6`, { skip }, async t => {
    const edge = await openEdge(t, { addresses: ['127.0.0.1'], ipv6, ...(await openReplica(t, '127.0.0.1')) })
    t.equal(await statusOf(edge.port), 404)
  })
}

for (const addresses of [[], ...Object.values(CODES), undefined]) {
  t.test(`and one that has IPv6 alone, with ${addresses} for IPv4`, { skip }, async t => {
    const edge = await openEdge(t, { addresses, ipv6: ['::1'], ...(await openReplica(t, '::1')) })
    t.equal(await statusOf(edge.port), 404)
  })
}

t.test('a name server that is well some seconds after the edge is asked again', { skip }, async t => {
  for (const before of [CODES.SERVFAIL, undefined]) {
    const edge = await openEdge(t, {
      addresses: before,
      isAlone: true,
      ...(await openReplica(t, '127.0.0.1')),
    })
    await delay(3_000)
    t.equal(await statusOf(edge.port), 503)
    edge.scale(['127.0.0.1'])
    await eventually('it answers', async () => (await statusOf(edge.port)) === 404, SOON_MS)
  }
})

const statusOf = async (port: number) => (await ask(port, '/api')).status

/** What stands for a replica. */
async function openReplica(t: Teardown, address: string) {
  const api = createServer((_request, response) => response.writeHead(404).end())
  return { apiPort: await listen(t, api, address) }
}
