import t from 'tap'
import { Oracle } from '../src/days/oracle.ts'
import type { DayReplica } from '../src/days/service.ts'

type Truth = ConstructorParameters<typeof Oracle>[0]

// docs/faults.md, 109
t.test('an older list is excused until 5 s after whoever writes has noticed what Redis lost', async t => {
  /** Findings where a list of :52 is served again so long after that of :53. @param noticedAt ms, as the others */
  const findings = (lostAt: number, noticedAt: number, readAt: number) => {
    const oracle = new Oracle({} as Truth)
    let minute = ''
    const body = () => [Buffer.from(JSON.stringify({ updated_at: minute, data: [] }))]
    const documents = { live: () => ({ tag: minute, body: body() }) }
    const replica = { host: { name: 'api' }, documents } as unknown as DayReplica
    for (const [at, of] of [
      [1_000, ':52'],
      [2_000, ':53'],
      [4_000, ':52'],
      [readAt, ':52'],
    ] as const) {
      minute = of
      oracle.readList(replica, at, { lostAt, noticedAt })
    }
    return oracle.findings.length
  }
  t.equal(findings(3_000, 3_000, 9_000), 0, 'noticed at once')
  t.equal(findings(3_000, 3_000, 9_001), 1)
  t.equal(findings(3_000, Number.POSITIVE_INFINITY, 200_000), 0, 'no minute has been written since')
  t.equal(findings(3_000, 150_000, 155_000), 0, 'until the next minute')
  t.equal(findings(3_000, 150_000, 155_001), 1)
  t.equal(findings(0, 0, 5_000), 1, 'nothing was lost')
})
