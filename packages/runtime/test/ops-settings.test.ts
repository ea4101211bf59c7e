import { readSettings } from '@kimchi/core'
import t from 'tap'
import { opsSettings } from '../src/ops-settings.ts'

t.test('defaults to a private address, the port of the app and the level info', async t => {
  t.strictSame(readSettings(opsSettings(9_464), {}), {
    OPS_HOST: '127.0.0.1',
    OPS_PORT: 9_464,
    LOG_LEVEL: 'info',
  })
})

t.test('reads the environment and complains about all of it at once', async t => {
  t.match(readSettings(opsSettings(9_464), { OPS_PORT: '0', LOG_LEVEL: 'silent' }), {
    OPS_PORT: 0,
    LOG_LEVEL: 'silent',
  })
  t.throws(() => readSettings(opsSettings(9_464), { OPS_PORT: '65536', LOG_LEVEL: 'INFO' }), {
    code: 'KIMCHI_ERR_CONFIG',
    message: /OPS_PORT must be .* "65536"\n {2}LOG_LEVEL must be one of trace, .* "INFO"/,
  })
})
