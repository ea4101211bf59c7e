import t from 'tap'
import { KimchiError, messageOf, noNetworkIn } from '../src/errors.ts'

t.test('anything thrown has a text', async t => {
  t.equal(messageOf(new Error('broken')), 'broken')
  t.equal(messageOf(undefined), 'undefined')
})

t.test('an error that is a cause of its own cause is told once', async t => {
  const first: Error & { cause?: unknown } = new Error('first')
  first.cause = new Error('second', { cause: first })
  t.equal(messageOf(first), 'first: second')
})

t.test('what Node says of a host without a network becomes a plain sentence', async t => {
  const unknown = "This machine has no internet, or its DNS doesn't know api.upbit.com."
  t.equal(noNetworkIn('fetch failed: getaddrinfo ENOTFOUND api.upbit.com; and more'), unknown)
  t.equal(noNetworkIn('getaddrinfo EAI_AGAIN api.upbit.com.'), unknown)
  t.equal(noNetworkIn('connect ENETUNREACH 1.1.1.1:443 - Local'), 'This machine has no internet.')
  t.equal(noNetworkIn('connect ECONNREFUSED 127.0.0.1:1'), undefined)
})

t.test('a text has every reason once, and is never empty', async t => {
  const at = (code: string, address: string) =>
    Object.assign(new Error(`connect ${code} ${address}`), { code })
  const dead = at('ENETUNREACH', '2001:db8::1:443 - Local (:::0)')
  const none = (errors: readonly Error[]) =>
    Object.assign(new AggregateError(errors), { code: 'ETIMEDOUT' as const })
  const both = none([at('ETIMEDOUT', '203.0.113.7:443'), dead, dead])
  const told = 'connect ETIMEDOUT 203.0.113.7:443, connect ENETUNREACH 2001:db8::1:443'
  t.equal(messageOf(both), told)
  t.equal(messageOf(new TypeError('fetch failed', { cause: both })), `fetch failed: ${told}`)
  const many = none(Array.from({ length: 12 }, (_, host) => at('ETIMEDOUT', `203.0.113.${host}:443`)))
  t.match(messageOf(many), /^connect ETIMEDOUT 203.0.113.0:443, .*203.0.113.3:443 and 8 more$/)
  t.equal(messageOf(none([])), 'ETIMEDOUT', 'a code where there is nothing else')
  t.equal(messageOf(new TypeError()), 'TypeError')
  t.equal(messageOf(new KimchiError('KIMCHI_ERR_REST', 'no answer', { cause: both })), 'no answer')
})
