import t from 'tap'
import { headerOf } from '../src/http/header.ts'

t.test('a header is found in any letter case, several are joined', async t => {
  const raw = [
    'Host',
    'a',
    'ACCEPT-Encoding',
    'gzip',
    'accept-encoding',
    'br',
    'Accept-Encodinh',
    'x',
    'Empty',
    '',
  ]
  t.equal(headerOf(raw, 'host'), 'a')
  t.equal(headerOf(raw, 'accept-encoding'), 'gzip, br')
  t.equal(headerOf(raw, 'empty'), '')
  t.equal(headerOf(raw, 'if-none-match'), undefined)
  t.equal(headerOf([], 'host'), undefined)
})
