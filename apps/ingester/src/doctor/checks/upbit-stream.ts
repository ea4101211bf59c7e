import type { EpochMs, Tick } from '@kimchi/core'
import { type Check, fail, judgeLifetime, ok, onStream, someOf, unknown, type Verdict } from '../finding.ts'
import type { WatchedStream } from '../watched-stream.ts'
import type { World } from '../world.ts'

/** How long SNAPSHOTs may take. */
const SNAPSHOTS_WITHIN_MS = 10_000

/** A trade this near to a renewal may have been lost by it. */
const NEAR_MS = 5_000

/** At the ends of the watch one connection may have what the other lacks. */
const EDGE_MS = 3_000

/** Upbit closes after 60 s without traffic; its documents say 120. */
const IDLE_MS = 70_000

const KNOWN_STATES = ['ACTIVE', 'PREVIEW', 'DELISTED']

const LATER = 'The service goes on, less well: docs/exchanges.md says how. Tell the project.'

/** What the service assumes of Upbit's stream. */
export const upbitChecks: readonly Check[] = [
  {
    check: 'Upbit, all codes in one subscription',
    expected: 'a SNAPSHOT of each',
    judge: onStream('upbit', (stream, { openedAt }) =>
      judgeSnapshots(stream, stream.snapshotsIn(openedAt, openedAt + SNAPSHOTS_WITHIN_MS)),
    ),
  },
  {
    check: 'Upbit, format',
    expected: 'frames in SIMPLE, as asked for',
    judge: onStream('upbit', ({ formats: { SIMPLE, DEFAULT } }) => {
      if (SIMPLE + DEFAULT === 0) return unknown('no ticker')
      const seen = `${SIMPLE} in SIMPLE, ${DEFAULT} in DEFAULT`
      return DEFAULT === 0 ? ok(seen) : fail(seen, 'The service reads both. Tell the project.')
    }),
  },
  {
    check: 'Upbit, the same subscription sent again',
    expected: 'SNAPSHOTs of all codes again',
    judge: onStream('upbit', judgeRenewals),
  },
  {
    check: 'Upbit, trades while the subscription is sent again',
    expected: 'none is lost, against a second connection',
    judge: onStream('upbit', judgeTrades),
  },
  {
    check: 'Upbit, unknown code',
    expected: 'silence, no error',
    judge: onStream('idle', ({ ticks, complaints }) => {
      if (complaints.length > 0)
        return fail(complaints.join('; '), 'A delisted code may end the stream of the others.')
      return ticks.length === 0 ? ok('nothing') : fail(`${ticks.length} frames`, LATER)
    }),
  },
  {
    check: 'Upbit, a quiet connection',
    expected: 'open past 70 s with our pings',
    judge: onStream('idle', (stream, { leftAt }) => judgeLifetime(stream, leftAt, IDLE_MS, LATER)),
  },
  {
    check: 'Upbit, market_state',
    expected: KNOWN_STATES.join(', '),
    judge: onStream('upbit', ({ states }) => {
      const seen = [...states].map(([state, count]) => `${state} ${count}`).join(', ')
      if (states.size === 0)
        return unknown('no market_state', 'Halts are noticed by is_trading_suspended alone.')
      const others = [...states.keys()].filter(state => !KNOWN_STATES.includes(state))
      return others.length === 0
        ? ok(seen)
        : unknown(seen, `The service trades on in ${others}. Tell the project.`)
    }),
  },
]

function judgeSnapshots({ markets, complaints }: WatchedStream, snapshots: ReadonlySet<string>): Verdict {
  const missing = markets.filter(market => !snapshots.has(market))
  const seen = `${markets.length - missing.length} of ${markets.length}`
  if (missing.length === 0) return ok(seen)
  return fail([`${seen}; none of ${someOf(missing)}`, ...complaints].join('; '), LATER)
}

function judgeRenewals(stream: WatchedStream, { renewals, openedAt }: World): Verdict {
  if (renewals.length === 0) return unknown('never sent again')
  const first = stream.snapshotsIn(openedAt, openedAt + SNAPSHOTS_WITHIN_MS)
  const counts = renewals.map(at => stream.snapshotsIn(at, at + SNAPSHOTS_WITHIN_MS).size)
  const seen = `${first.size} at first, then ${counts.join(', ')}`
  if (first.size === 0) return unknown(seen)
  const advice = 'Halts on Upbit are noticed after 60 minutes only. Tell the project.'
  return counts.every(count => count >= first.size) ? ok(seen) : fail(seen, advice)
}

/** Trades that the second connection has and ours lacks. */
function judgeTrades(stream: WatchedStream, { twin, renewals, leftAt }: World): Verdict {
  const openedAt = Math.max(
    stream.connection.state.openedAt ?? leftAt,
    twin?.connection.state.openedAt ?? leftAt,
  )
  const until = Math.min(leftAt, twin?.connection.state.ending?.lostAt ?? leftAt) - EDGE_MS
  const isWithin = ({ receivedAt: at }: Tick) => at > openedAt + EDGE_MS && at < until
  const theirs = (twin?.ticks ?? []).filter(tick => tick.origin === 'stream' && isWithin(tick))
  if (theirs.length === 0 || renewals.length === 0) return unknown('nothing to compare with')
  const ours = new Set(stream.ticks.map(keyOf))
  const lost = theirs.filter(tick => !ours.has(keyOf(tick)))
  const isNear = (at: EpochMs) => renewals.some(renewal => Math.abs(at - renewal) < NEAR_MS)
  const near = lost.filter(({ receivedAt }) => isNear(receivedAt)).length
  const seen = `${theirs.length} trades, ${near} lost within 5 s of ${renewals.length} renewals, ${lost.length - near} elsewhere`
  if (lost.length === 0) return ok(seen)
  const advice = 'A lost trade is repaired by the SNAPSHOT, unless another followed. Tell the project.'
  return lost.length > near ? unknown(seen, 'The two connections differ anyway.') : fail(seen, advice)
}

function keyOf({ market, tradedAt, price }: Tick): string {
  return `${market} ${tradedAt} ${price}`
}
