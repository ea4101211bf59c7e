import t from 'tap'
import { readConfig } from '../src/config.ts'

t.test('works without any variable', async t => {
  const config = readConfig({})
  t.match(config, {
    PRICES: 'live',
    SAMPLE_RETENTION_DAYS: 8,
    UPBIT_WS_URL: ['wss://api.upbit.com/websocket/v1'],
    BINANCE_REST_URL: ['https://api.binance.com', 'https://data-api.binance.vision'],
    OPS_PORT: 9465,
  })
  t.equal(config.COINS.length, 10)
  t.equal(config.COINS[0], 'BTC')
})

t.test('reads a list of coins in its order, in any letter case, each once', async t => {
  t.strictSame(readConfig({ COINS: 'eth, BTC,eth' }).COINS, ['ETH', 'BTC'])
  t.equal(readConfig({ COINS: 'ALL' }).COINS, 'all')
})

t.test('nothing is allowed or denied by default; lists are read in any letter case', async t => {
  t.match(readConfig({}), { ALLOW: [], DENY: [] })
  t.match(readConfig({ ALLOW: 'new, Other', DENY: ' ' }), { ALLOW: ['NEW', 'OTHER'], DENY: [] })
  t.throws(() => readConfig({ DENY: 'A,,B' }), { message: /DENY must be symbols of letters and digits/ })
  t.throws(() => readConfig({ DENY: '人生' }), { message: /DENY must be symbols of letters and digits/ })
})

t.test('contradictions are refused, each with its reason', async t => {
  const bad = { COINS: 'BTC,ETH', DENY: 'ETH,NEW', ALLOW: 'NEW,PROS' }
  t.throws(() => readConfig(bad), {
    code: 'KIMCHI_ERR_CONFIG',
    message:
      /COINS and DENY both name ETH\n.*ALLOW and DENY both name NEW\n.*ALLOW cannot name PROS: Pharos on Upbit/,
  })
})
