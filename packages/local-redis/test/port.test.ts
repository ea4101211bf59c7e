import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import t from 'tap'
import { freePort, probePort } from '../src/port.ts'

t.test('a free port stays free while programs connect to others', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  const given = Number(socket.localPort)
  t.ok(given >= 32_768, 'the system gives ports from here on to those who connect')
  for (let n = 0; n < 20; n++) {
    const port = await freePort()
    t.ok(port > 1_024 && port < 32_768, String(port))
    await probePort({ host: '127.0.0.1', port })
  }
})
