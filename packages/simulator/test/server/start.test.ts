import t from 'tap'
import { connect, get, startManual } from '../clients.ts'

t.test('closing ends the port and every connection, and may be done twice', async t => {
  const { simulator } = await startManual(t)
  const client = await connect(t, `${simulator.binanceWsUrl}/ws`)
  await Promise.all([simulator.close(), simulator.close()])
  await client.closed
  await t.rejects(get(`${simulator.url}/api/v3/ping`))
})

t.test('a handshake at an address that is none is refused, and harms nobody', async t => {
  const { simulator } = await startManual(t)
  await t.rejects(connect(t, `${simulator.binanceWsUrl}//`), { message: 'Unexpected server response: 404' })
  t.equal((await get(`${simulator.url}/api/v3/ping`)).status, 200)
})
