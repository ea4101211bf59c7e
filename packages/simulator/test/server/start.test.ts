import t from 'tap'
import { connect, get, startManual } from '../clients.ts'

t.test('a handshake at an address that is none is refused, and harms nobody', async t => {
  const { simulator } = await startManual(t)
  await t.rejects(connect(t, `${simulator.env.BINANCE_WS_URL}//`), {
    message: 'Unexpected server response: 404',
  })
  t.equal((await get(`${simulator.url}/api/v3/ping`)).status, 200)
})
