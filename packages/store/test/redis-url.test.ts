import t from 'tap'
import { parseRedisUrl, redisUrlSetting } from '../src/redis/redis-url.ts'

const LOGIN = { username: '', password: '', db: 0 }
const SENTINEL = { name: '', sentinelUsername: '', sentinelPassword: '' }

t.test('every documented form is read', async t => {
  t.strictSame(parseRedisUrl('redis://localhost'), {
    kind: 'single',
    label: 'redis://localhost',
    hosts: [{ host: 'localhost', port: 6379 }],
    login: LOGIN,
    sentinel: SENTINEL,
    tlsFiles: undefined,
  })
  t.match(parseRedisUrl('rediss://user:p%40ss:w@[::1]:6380/3?ca=ca.pem&key='), {
    kind: 'single',
    label: 'rediss://[::1]:6380/3',
    hosts: [{ host: '::1', port: 6380 }],
    login: { username: 'user', password: 'p@ss:w', db: 3 },
    tlsFiles: { ca: 'ca.pem', key: undefined },
  })
  t.strictSame(
    parseRedisUrl('redis+sentinel://:pw@s1:26379,s2/mymaster?sentinelPassword=x%26y&db=2&tls=true'),
    {
      kind: 'sentinel',
      label: 'redis+sentinel://s1:26379,s2/mymaster',
      hosts: [
        { host: 's1', port: 26379 },
        { host: 's2', port: 26379 },
      ],
      login: { username: '', password: 'pw', db: 2 },
      sentinel: { name: 'mymaster', sentinelUsername: '', sentinelPassword: 'x&y' },
      tlsFiles: {},
    },
  )
  t.match(parseRedisUrl('redis+cluster://a:1,b:65535'), {
    kind: 'cluster',
    label: 'redis+cluster://a:1,b:65535',
    hosts: [
      { host: 'a', port: 1 },
      { host: 'b', port: 65_535 },
    ],
    login: LOGIN,
  })
})

t.test('anything else is refused', async t => {
  const wrongs = [
    '',
    'localhost:6379',
    'http://localhost',
    'redis://',
    'redis://a,b',
    'redis://a:0',
    'redis://a:65536',
    'redis://a:x',
    'redis://a/x',
    'redis://%zz@a',
    ...['p/w', 'p@w', 'p%w'].map(password => `redis://api:${password}@redis:6379`),
    'redis://a b',
    'redis://a%62',
    'redis+sentinel://a:1',
    'redis+cluster://a?db=1',
    'redis+cluster://a:1/2',
    'redis+cluster://a:1,',
    'constructor://a',
    'redis+sentinel://a/kp?role=replica',
    'redis+cluster://a?scaleReads=all',
    'redis://a?timeout=5',
  ]
  for (const wrong of wrongs) t.equal(parseRedisUrl(wrong), undefined, wrong)
  t.ok(redisUrlSetting.sensitive, 'no complaint prints a password')
  t.match(redisUrlSetting.allowed, /user:password@.*percent-encoded/)
})
