import t from 'tap'
import {
  choiceSetting,
  integerSetting,
  readSettings,
  type Setting,
  settingError,
  urlListSetting,
  wordSetting,
} from '../src/settings.ts'

const secret: Setting<string> = {
  description: 'a secret',
  default: undefined,
  allowed: 'a text starting with s3',
  sensitive: true,
  parse: text => (text.startsWith('s3') ? text : undefined),
}

const settings = {
  PORT: integerSetting('port', 3_000, { min: 0, max: 65_535 }),
  LOG_LEVEL: choiceSetting('level', 'info', ['debug', 'info']),
  WS_URL: urlListSetting('where', ['wss://example.test/x']),
  HOST: wordSetting('host', '127.0.0.1'),
  SECRET: secret,
}

t.test('the default is used where a variable is unset, empty or blank', async t => {
  const defaults = { PORT: 3_000, LOG_LEVEL: 'info', WS_URL: ['wss://example.test/x'], HOST: '127.0.0.1' }
  t.strictSame(readSettings(settings, {}), defaults)
  t.strictSame(readSettings(settings, { PORT: '', LOG_LEVEL: '  ', WS_URL: undefined, HOST: '\t' }), defaults)
})

t.test('reads what is set, without the spaces around it, and ignores other variables', async t => {
  t.strictSame(
    readSettings(settings, {
      PORT: ' 0 ',
      LOG_LEVEL: 'debug',
      WS_URL: 'ws://127.0.0.1:8080//, wss://b.test/a%2Cb, ws://127.0.0.1:8080',
      HOST: '::1',
      SECRET: 's3cret',
      PATH: '/bin',
    }),
    {
      PORT: 0,
      LOG_LEVEL: 'debug',
      WS_URL: ['ws://127.0.0.1:8080', 'wss://b.test/a%2Cb'],
      HOST: '::1',
      SECRET: 's3cret',
    },
  )
})

t.test('reports every problem at once: name, what is allowed, value', async t => {
  const env = {
    PORT: '70000',
    LOG_LEVEL: 'loud',
    WS_URL: 'wss://a.test,http://example.test',
    HOST: 'a b',
    SECRET: 'hunter2',
  }
  t.throws(() => readSettings(settings, env), {
    code: 'KIMCHI_ERR_CONFIG',
    message: [
      'bad configuration:',
      '  PORT must be an integer from 0 to 65535, got: "70000"',
      '  LOG_LEVEL must be one of debug, info, got: "loud"',
      '  WS_URL must be wss:// or ws:// URLs without user or password, separated by commas, got: "wss://a.test,http://example.test"',
      '  HOST must be a text without spaces, got: "a b"',
      '  SECRET must be a text starting with s3, got: (hidden)',
    ].join('\n'),
  })
})

t.test('refuses a URL with a user or password, and does not print them', async t => {
  for (const credentials of ['user:hunter2@', 'user@', ':hunter2@', 'us@er:hunter2@']) {
    const env = { WS_URL: `wss://${credentials}a.test/x,wss://b.test` }
    const error = t.throws(() => readSettings(settings, env), { code: 'KIMCHI_ERR_CONFIG' })
    t.match(String(error), 'got: "wss://(hidden)@a.test/x,wss://b.test"')
    t.notMatch(String(error), /hunter2/)
  }
})

t.test('an integer is digits within its bounds and nothing else', async t => {
  const { parse } = integerSetting('days', 7, { min: 1, max: 3_650 })
  t.equal(parse('1'), 1)
  t.equal(parse('3650'), 3_650)
  for (const text of ['0', '3651', '-1', '1.5', '1e3', '0x10', '٣', 'NaN', '7 days', '9'.repeat(400)]) {
    t.equal(parse(text), undefined, text.slice(0, 20))
  }
})

t.test('each URL of a list needs its protocol', async t => {
  const { parse } = urlListSetting('where', ['https://example.test'])
  t.strictSame(parse('https://example.test/api/'), ['https://example.test/api'])
  t.strictSame(parse('http://example.test'), ['http://example.test'])
  for (const text of [
    'example.test',
    '//example.test',
    'wss://example.test',
    'https://',
    'https://a.test,',
    ',',
  ]) {
    t.equal(parse(text), undefined, text)
  }
})

t.test('a value that the system refuses is named with what would do and what the system says', async t => {
  const cause = new Error('ENOENT')
  t.match(settingError('DATA_DIR', 'a folder', '/nowhere', cause), {
    code: 'KIMCHI_ERR_CONFIG',
    message: 'DATA_DIR must be a folder, got: /nowhere (ENOENT)',
    cause,
  })
})
