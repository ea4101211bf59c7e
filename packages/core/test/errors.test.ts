import t from 'tap'
import { KimchiError, messageOf, noNetworkIn } from '../src/errors.ts'

t.test('an error has a code, a message and its cause', async t => {
  const cause = new Error('socket hang up')
  const error = new KimchiError('KIMCHI_ERR_REST', 'no answer from /v1/market/all', { cause })
  t.match(error, {
    name: 'KimchiError',
    code: 'KIMCHI_ERR_REST',
    message: 'no answer from /v1/market/all',
    cause,
  })
  t.ok(error instanceof Error)
  t.match(String(error), 'KimchiError: no answer')
})

t.test('anything thrown has a text', async t => {
  t.equal(messageOf(new Error('broken')), 'broken')
  t.equal(messageOf('broken'), 'broken')
  t.equal(messageOf(undefined), 'undefined')
  t.equal(messageOf(null), 'null')
})

t.test('what Node says of a host without a network becomes a plain sentence', async t => {
  const unknown = "This machine has no internet, or its DNS doesn't know api.upbit.com."
  t.equal(noNetworkIn('fetch failed: getaddrinfo ENOTFOUND api.upbit.com; and more'), unknown)
  t.equal(noNetworkIn('getaddrinfo EAI_AGAIN api.upbit.com.'), unknown)
  t.equal(noNetworkIn('connect ENETUNREACH 1.1.1.1:443 - Local'), 'This machine has no internet.')
  t.equal(noNetworkIn('connect ECONNREFUSED 127.0.0.1:1'), undefined)
})
