import t from 'tap'
import { describeTarget, parseRedisUrl, redisUrlSetting } from '../src/redis/redis-url.ts'

const none = {
  tls: false,
  tlsFiles: {},
  username: undefined,
  password: undefined,
  db: 0,
  sentinelName: undefined,
  sentinelUsername: undefined,
  sentinelPassword: undefined,
}

t.test('every documented form is read', async t => {
  t.strictSame(parseRedisUrl('redis://localhost'), {
    ...none,
    kind: 'single',
    hosts: [{ host: 'localhost', port: 6379 }],
  })
  t.strictSame(parseRedisUrl('rediss://user:p%40ss:w@[::1]:6380/3'), {
    ...none,
    kind: 'single',
    hosts: [{ host: '::1', port: 6380 }],
    tls: true,
    username: 'user',
    password: 'p@ss:w',
    db: 3,
  })
  t.strictSame(
    parseRedisUrl('redis+sentinel://:pw@s1:26379,s2/mymaster?sentinelPassword=x%26y&db=2&tls=true'),
    {
      ...none,
      kind: 'sentinel',
      hosts: [
        { host: 's1', port: 26379 },
        { host: 's2', port: 26379 },
      ],
      tls: true,
      password: 'pw',
      db: 2,
      sentinelName: 'mymaster',
      sentinelPassword: 'x&y',
    },
  )
  t.strictSame(parseRedisUrl('redis+cluster://a:1,b:65535'), {
    ...none,
    kind: 'cluster',
    hosts: [
      { host: 'a', port: 1 },
      { host: 'b', port: 65_535 },
    ],
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
    'redis+sentinel://a:1',
    'redis+cluster://a:1/2',
    'redis+cluster://a:1,',
    'constructor://a',
    'redis+sentinel://a/kp?role=replica',
    'redis+cluster://a?scaleReads=all',
    'redis://a?timeout=5',
  ]
  for (const wrong of wrongs) t.equal(parseRedisUrl(wrong), undefined, wrong)
  t.ok(redisUrlSetting.sensitive, 'no complaint prints a password')
})

t.test('a target is described without credentials', async t => {
  const described = (url: string) => {
    const target = parseRedisUrl(url)
    return target && describeTarget(target)
  }
  t.equal(described('rediss://user:pw@[::1]:6380/3'), 'rediss://[::1]:6380/3')
  t.equal(described('redis+sentinel://u:pw@a:1,b:2/m?sentinelPassword=pw'), 'redis+sentinel://a:1,b:2/m')
  t.equal(described('redis+cluster://u:pw@a'), 'redis+cluster://a:6379')
})
