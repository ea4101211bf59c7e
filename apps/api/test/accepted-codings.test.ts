import t from 'tap'
import { acceptedCodings } from '../src/http/accepted-codings.ts'

const cases: readonly [title: string, header: string | undefined, codings: readonly string[]][] = [
  ['no header means plain bytes', undefined, ['identity']],
  ['an empty header means plain bytes', '', ['identity']],
  ['the smallest comes first when all weigh the same', 'gzip, deflate, br', ['br', 'gzip', 'identity']],
  ['the client’s weights decide', 'br;q=0.5, gzip;q=0.9', ['gzip', 'br', 'identity']],
  ['spaces and letter case don’t matter', ' GZIP ; Q=0.3 ,Br;q=0.2', ['gzip', 'br', 'identity']],
  ['q=0 is a refusal', 'gzip;q=0, br', ['br', 'identity']],
  ['* stands for what is not named', '*;q=0.1, gzip;q=0', ['br', 'identity']],
  ['identity may be preferred', 'identity, gzip;q=0.5', ['identity', 'gzip']],
  ['identity goes on being sent when nothing else is left', 'identity;q=0, *;q=0', ['identity']],
  ['x-gzip is gzip', 'x-gzip', ['gzip', 'identity']],
  ['an unknown coding is ignored', 'zstd, sdch', ['identity']],
  ['a malformed weight is as good as none sent', 'gzip;q=2, br;q=abc', ['identity']],
]

for (const [title, header, codings] of cases) {
  t.test(title, async t => {
    t.strictSame(acceptedCodings(header), codings)
    t.strictSame(acceptedCodings(header), codings, 'and again, when remembered')
  })
}

t.test('a flood of different headers is parsed, not remembered', async t => {
  const codings = Array.from({ length: 1_000 }, (_, n) => acceptedCodings(`gzip;q=0.5, x${n}`).join())
  t.strictSame(new Set(codings), new Set(['gzip,identity']))
})
