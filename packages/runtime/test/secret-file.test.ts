import { join } from 'node:path'
import t from 'tap'
import { withSecretFile } from '../src/secret-file.ts'

t.test('a secret comes from the file that its variable names', async t => {
  const file = join(t.testdir({ url: 'redis://api:s3cret@redis:6379\n' }), 'url')
  t.match(withSecretFile({ REDIS_URL_FILE: file, A: 'b' }), {
    REDIS_URL: 'redis://api:s3cret@redis:6379',
    A: 'b',
  })
  t.strictSame(withSecretFile({ REDIS_URL: 'x', REDIS_URL_FILE: '' }).REDIS_URL, 'x')
})

t.test('a file that cannot be read, and two values for one setting, are refused by name', async t => {
  const file = join(t.testdir({ url: 'redis://s3cret\n' }), 'url')
  const code = 'KIMCHI_ERR_CONFIG'
  t.throws(() => withSecretFile({ REDIS_URL_FILE: '/nowhere' }), {
    code,
    message: /^REDIS_URL_FILE must be a readable file, got: "\/nowhere" \(ENOENT/,
  })
  t.throws(() => withSecretFile({ REDIS_URL: 'redis://other', REDIS_URL_FILE: file }), {
    code,
    message: 'REDIS_URL and the file of REDIS_URL_FILE must not differ',
  })
  t.match(withSecretFile({ REDIS_URL: 'redis://s3cret', REDIS_URL_FILE: file }), {
    REDIS_URL: 'redis://s3cret',
  })
})
