import t from 'tap'
import {
  describeTarget,
  parseRedisUrl,
  readingRedisUrlSetting,
  redisUrlSetting,
} from '../src/redis/redis-url.ts'

const none = {
  tls: false,
  tlsFiles: {},
  username: undefined,
  password: undefined,
  db: 0,
  sentinelName: undefined,
  sentinelUsername: undefined,
  sentinelPassword: undefined,
  reads: 'primary',
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

t.test('a reader may name the servers it reads from; a writer may not', async t => {
  for (const [url, reads] of [
    ['redis+sentinel://a/kp?role=replica', 'replica'],
    ['redis+cluster://a?scaleReads=replica', 'replica'],
    ['redis+cluster://a?scaleReads=all', 'all'],
  ] as const) {
    t.equal(parseRedisUrl(url)?.reads, reads)
    t.equal(readingRedisUrlSetting.parse(url), url)
    t.equal(redisUrlSetting.parse(url), undefined)
  }
  t.equal(redisUrlSetting.parse('redis+sentinel://a/kp'), 'redis+sentinel://a/kp')
  t.ok(redisUrlSetting.sensitive && readingRedisUrlSetting.sensitive, 'no complaint prints a password')
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
    'redis://a?role=replica',
    'redis+sentinel://a/kp?role=slave',
    'redis+sentinel://a/kp?scaleReads=replica',
    'redis+cluster://a?role=replica',
    'redis+cluster://a?scaleReads=some',
  ]
  for (const wrong of wrongs) t.equal(parseRedisUrl(wrong), undefined, wrong)
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
