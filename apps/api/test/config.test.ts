import t from 'tap'
import { readConfig } from '../src/config.ts'

t.test('an empty environment gives the documented defaults', async t => {
  t.strictSame(readConfig({}), {
    REDIS_URL: 'redis://127.0.0.1:6379',
    HOST: '::',
    PORT: 3000,
    OPS_HOST: '127.0.0.1',
    OPS_PORT: 9464,
    LOG_LEVEL: 'info',
  })
})

t.test('reports every problem at once, but no password', async t => {
  const env = { REDIS_URL: 'http://:secret@h', PORT: '70000', OPS_PORT: 'x', LOG_LEVEL: 'loud' }
  t.throws(() => readConfig(env), {
    code: 'KIMCHI_ERR_CONFIG',
    message:
      /REDIS_URL must be .*\n.*PORT must be .*got: "70000"\n.*OPS_PORT must be .*\n.*LOG_LEVEL must be/,
  })
  try {
    readConfig(env)
  } catch (error) {
    t.notMatch(String(error), /secret/)
  }
})
