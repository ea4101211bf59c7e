import t from 'tap'
import { KimchiError, messageOf } from '../src/errors.ts'

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
