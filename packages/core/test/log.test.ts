import t from 'tap'
import { isWorthALine } from '../src/index.ts'

t.test(
  'the 1st complaint of a kind is logged, then the 10th, 100th and 1,000th, then every 10,000th',
  async t => {
    const logged = Array.from({ length: 30_000 }, (_, index) => index + 1).filter(isWorthALine)
    t.strictSame(logged, [1, 10, 100, 1_000, 10_000, 20_000, 30_000])
  },
)
