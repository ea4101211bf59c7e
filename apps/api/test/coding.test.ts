import t from 'tap'
import { bestCoding } from '../src/http/coding.ts'

const cases: readonly [title: string, header: string | undefined, coding: string][] = [
  ['no header means plain bytes', undefined, 'identity'],
  ['an empty header means plain bytes', '', 'identity'],
  ['the smaller comes first when both weigh the same', 'gzip, deflate, br', 'br'],
  ['the client’s weights decide', 'br;q=0.5, gzip;q=0.9', 'gzip'],
  ['spaces and letter case don’t matter', ' GZIP ; Q=0.3 ,Br; q = 0.2', 'gzip'],
  ['q=0 is a refusal', 'gzip, br;q=0', 'gzip'],
  ['* stands for what is not named', '*;q=0.1, br;q=0', 'gzip'],
  ['* alone is anything', '*', 'br'],
  ['identity may be preferred', 'identity, gzip;q=0.5', 'identity'],
  ['identity goes on being sent when nothing else is left', 'identity;q=0, *;q=0', 'identity'],
  ['an unknown coding is ignored', 'zstd, sdch', 'identity'],
  ['a malformed weight is a refusal', 'br;q=abc, gzip', 'gzip'],
]

for (const [title, header, coding] of cases) {
  t.test(title, async t => {
    t.equal(bestCoding(header), coding)
    t.equal(bestCoding(header), coding, 'and again, when remembered')
  })
}

t.test('a flood of different headers does not fill the memory', async t => {
  const codings = Array.from({ length: 1_000 }, (_, n) => bestCoding(`gzip;q=0.5, x${n}`))
  t.strictSame(new Set(codings), new Set(['gzip']))
})
