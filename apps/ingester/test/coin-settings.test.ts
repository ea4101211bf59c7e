import t from 'tap'
import { readConfig } from '../src/config.ts'

t.test('nothing is admitted or denied by default; lists are read in any letter case', async t => {
  t.match(readConfig({}), { ADMIT: [], DENY: [] })
  t.match(readConfig({ ADMIT: 'new, Other', DENY: ' ' }), { ADMIT: ['NEW', 'OTHER'], DENY: [] })
  t.throws(() => readConfig({ DENY: 'A,,B' }), { message: /DENY must be symbols of letters and digits/ })
})

t.test('contradictions are refused, each with its reason', async t => {
  const bad = { COINS: 'BTC,ETH', DENY: 'ETH,NEW', ADMIT: 'NEW,PROS' }
  t.throws(() => readConfig(bad), {
    code: 'KIMCHI_ERR_CONFIG',
    message:
      /COINS and DENY both name ETH\n.*ADMIT and DENY both name NEW\n.*ADMIT cannot name PROS: Pharos on Upbit/,
  })
})
