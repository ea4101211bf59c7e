import t from 'tap'
import { bestCoding } from '../src/http/response.ts'

const cases: readonly [title: string, header: string | undefined, coding: string][] = [
  ['no header means plain bytes', undefined, 'identity'],
  ['an empty header means plain bytes', '', 'identity'],
  ['the smaller comes first, whatever weighs more', 'gzip, deflate, br;q=0.2', 'br'],
  ['spaces and letter case don’t matter', ' GZIP ; Q=0.3 ,Br; q = 0.2', 'br'],
  ['gzip’s old name', 'X-Gzip', 'gzip'],
  ['q=0 is a refusal', 'gzip, br;q=0', 'gzip'],
  ['so it is with decimals', 'gzip;q=0.001, br;q=0.000', 'gzip'],
  ['a malformed weight is a refusal', 'br;q=abc, gzip', 'gzip'],
  ['a weight above 1, too', 'br;q=2, gzip', 'gzip'],
  ['* names no coding', '*', 'identity'],
  ['identity goes on being sent when nothing else is left', 'identity;q=0, *;q=0', 'identity'],
  ['an unknown coding is ignored', 'zstd, sdch, brotli', 'identity'],
]

for (const [title, header, coding] of cases) {
  t.test(title, async t => t.equal(bestCoding(header), coding))
}
