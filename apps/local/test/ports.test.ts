import { once } from 'node:events'
import { createServer } from 'node:net'
import { listen } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { pickPort, urlOf } from '../src/ports.ts'

const takenPort = (t: Test) => listen(t, createServer())

t.test('in place of a taken default the next free port is used, always the same one', async t => {
  const server = createServer()
  const [taken, after] = [await listen(t, server), await takenPort(t)]
  const free = await pickPort(taken)
  t.ok(free > taken && free !== after, `${free}`)
  t.equal(await pickPort(taken), free)
  server.close()
  await once(server, 'close')
  t.equal(await pickPort(taken), taken)
})

t.test(
  'a port or a host that was asked for is never replaced: an error names what is in the way',
  async t => {
    const port = await takenPort(t)
    const asked = { name: 'PAGE_PORT', port, host: '127.0.0.1' } as const
    await t.rejects(pickPort(3_000, asked), {
      code: 'KIMCHI_ERR_CONFIG',
      message: new RegExp(`^PAGE_PORT must be a port that nothing else listens on, .*got: ${port} on 127`),
    })
    t.not(await pickPort(port, { ...asked, port: 0 }), port)
    const host = 'x86_64-conda-linux-gnu.invalid'
    await t.rejects(pickPort(port, { name: 'PORT', port: undefined, host }), {
      code: 'KIMCHI_ERR_CONFIG',
      message: new RegExp(`^HOST must be unset or an address of this machine, .*got: ${host} \\(.*ENOTFOUND`),
    })
  },
)

t.test(
  'a server on every address is reached at this machine’s own, and IPv6 is written in brackets',
  async t => {
    const hosts = ['127.0.0.1', '0.0.0.0', '::', '::1', '192.0.2.7']
    t.strictSame(
      hosts.map(host => urlOf(host, 80)),
      ['127.0.0.1', '127.0.0.1', '127.0.0.1', '[::1]', '192.0.2.7'].map(host => `http://${host}:80`),
    )
  },
)
