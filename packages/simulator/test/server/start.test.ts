import t from 'tap'
import { connect, get, startManual } from '../clients.ts'

t.test('closing ends the port and every connection, and may be done twice', async t => {
  const { simulator } = await startManual(t)
  const client = await connect(t, `${simulator.binanceWsUrl}/ws`)
  await Promise.all([simulator.close(), simulator.close()])
  await client.closed
  await t.rejects(get(`${simulator.url}/api/v3/ping`))
})
