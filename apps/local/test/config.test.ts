import { join } from 'node:path'
import t from 'tap'
import { readConfig } from '../src/config.ts'

t.test('the URL of a Redis may come from a file; the apps get the URL', async t => {
  const dir = t.testdir({ url: 'redis://user:secret@127.0.0.1:6399\n' })
  const env = { REDIS_URL_FILE: join(dir, 'url') }
  const { REDIS_URL, env: handedOn } = readConfig('live', env)
  t.equal(REDIS_URL, 'redis://user:secret@127.0.0.1:6399')
  t.equal(handedOn.REDIS_URL_FILE, undefined)
  t.equal(readConfig('demo', env).REDIS_URL, undefined, 'the demo has a Redis of its own')
  t.throws(() => readConfig('live', { ...env, REDIS_URL: 'redis://127.0.0.1' }), {
    message: /REDIS_URL and the file of REDIS_URL_FILE must not differ/,
  })
})

t.test('names an invalid mode or port with its value', async t => {
  t.throws(() => readConfig('dev', {}), { code: 'KIMCHI_ERR_CONFIG', message: /got: dev/ })
  t.throws(() => readConfig('demo', { PORT: '-1' }), { code: 'KIMCHI_ERR_CONFIG', message: /PORT.*-1/ })
})

t.test('only this machine is served unless HOST says otherwise, which shells set for themselves', async t => {
  const local = { HOST: '127.0.0.1', PAGE_HOST: '127.0.0.1', PORT: undefined, REDIS_URL: undefined }
  t.match(readConfig('live', {}), local)
  t.match(readConfig('demo', { HOST: 'x86_64-conda-linux-gnu' }), local)
  t.equal(readConfig('live', { HOST: '0.0.0.0' }).HOST, '0.0.0.0')
})

t.test('the apps ask this machine without a proxy, and what is excepted already', async t => {
  t.match(readConfig('live', {}).env, { NO_PROXY: '127.0.0.1,localhost,::1' })
  const env = { HTTP_PROXY: 'http://proxy:3128', NO_PROXY: 'a.example', no_proxy: 'b.example' }
  const direct = 'b.example,127.0.0.1,localhost,::1'
  t.match(readConfig('live', env).env, { HTTP_PROXY: env.HTTP_PROXY, NO_PROXY: direct, no_proxy: direct })
})
