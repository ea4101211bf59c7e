import type { Context, EpochMs, Tick } from '@kimchi/core'
import { fail, ok, someOf, unknown, type Verdict, worstOf } from '../finding.ts'
import type { Streams, WatchedStream } from '../watched-stream.ts'

/** How long SNAPSHOTs may take. */
const SNAPSHOTS_WITHIN_MS = 10_000

/** Times between two renewals, and how many there are. */
const RENEW_EVERY_MS = 15_000
const RENEWALS = 3

/** A trade this near to a renewal may have been lost by it. */
const NEAR_MS = 5_000

/** At the ends of the watch one connection may have what the other lacks. */
const EDGE_MS = 3_000

const KNOWN_STATES = ['ACTIVE', 'PREVIEW', 'DELISTED']

const LATER = 'The service goes on, less well: docs/exchanges.md says how. Tell the project.'

/** Whether Upbit accepts every code and sends frames of each that can be read. */
export function checkCodes({ upbit, groups }: Streams): Verdict {
  const refused = groups.filter(({ errors }) => errors.length > 0)
  if (refused.length > 0) {
    const seen = refused.map(({ markets, errors }) => `${errors[0]} for ${markets.join(', ')}`).join('; ')
    return fail(seen, 'One of these codes ends the stream of all; DENY= its coin.')
  }
  if (upbit.errors.length > 0) return fail(`${upbit.errors[0]} for all codes, for no group of them`, LATER)
  return worstOf([judgeSnapshots(upbit), judgeFrames(upbit)])
}

function judgeSnapshots(stream: WatchedStream): Verdict {
  const { openedAt = 0, markets } = stream
  const snapshots = stream.snapshotsIn(openedAt, openedAt + SNAPSHOTS_WITHIN_MS)
  const missing = markets.filter(market => !snapshots.has(market))
  const seen = `SNAPSHOTs of ${markets.length - missing.length} of ${markets.length}`
  return missing.length === 0 ? ok(seen) : fail(`${seen}; none of ${someOf(missing)}`, LATER)
}

/** Whether every frame could be read. */
export function judgeFrames({ ticks, malformed, firstMalformed }: WatchedStream): Verdict {
  if (ticks.length === 0) return fail(`no frame that could be read, ${malformed} malformed`)
  if (malformed === 0) return ok(`${ticks.length} frames`)
  return fail(`${malformed} malformed frames beside ${ticks.length}: ${firstMalformed}`)
}

/** Sends the subscription again three times: its SNAPSHOTs are how a halt on Upbit is noticed. */
export async function checkRenewal(
  stream: WatchedStream,
  renewals: EpochMs[],
  { clock, signal }: Context,
): Promise<Verdict> {
  const { openedAt = 0 } = stream
  while (renewals.length < RENEWALS) {
    await clock.wait(RENEW_EVERY_MS, signal)
    if (signal.aborted || stream.endedAt !== undefined) return unknown(`sent again ${renewals.length} times`)
    renewals.push(clock.now())
    stream.renewSubscription()
  }
  await clock.wait(SNAPSHOTS_WITHIN_MS, signal)
  const first = stream.snapshotsIn(openedAt, openedAt + SNAPSHOTS_WITHIN_MS).size
  const counts = renewals.map(at => stream.snapshotsIn(at, at + SNAPSHOTS_WITHIN_MS).size)
  const seen = `${first} SNAPSHOTs at first, then ${counts.join(', ')}`
  if (first === 0) return unknown(seen)
  const advice = 'Halts on Upbit are noticed after 60 minutes only. Tell the project.'
  return counts.every(count => count >= first) ? ok(seen) : fail(seen, advice)
}

/** Trades that the connections that were subscribed once have, and the renewed one lacks. */
export function checkTrades({ upbit, groups }: Streams, renewals: readonly EpochMs[], now: EpochMs): Verdict {
  const all = [upbit, ...groups]
  const from = Math.max(...all.map(({ openedAt = now }) => openedAt)) + EDGE_MS
  const until = Math.min(...all.map(({ endedAt = now }) => endedAt)) - EDGE_MS
  const isWithin = ({ origin, receivedAt: at }: Tick) => origin === 'stream' && at > from && at < until
  const theirs = groups.flatMap(({ ticks }) => ticks.filter(isWithin))
  if (theirs.length === 0 || renewals.length === 0) return unknown('nothing to compare with')
  const ours = new Set(upbit.ticks.map(keyOf))
  const lost = theirs.filter(tick => !ours.has(keyOf(tick)))
  const isNear = ({ receivedAt }: Tick) => renewals.some(renewal => Math.abs(receivedAt - renewal) < NEAR_MS)
  const near = lost.filter(isNear).length
  const seen = `${theirs.length} trades, ${near} lost within 5 s of ${renewals.length} renewals, ${lost.length - near} elsewhere`
  if (lost.length === 0) return ok(seen)
  if (lost.length > near) return unknown(seen, 'The connections differ anyway.')
  return fail(seen, 'A lost trade is repaired by the SNAPSHOT, unless another followed. Tell the project.')
}

function keyOf({ market, tradedAt, price }: Tick): string {
  return `${market} ${tradedAt} ${price}`
}

/** Whether every market is in a state that the service knows. */
export function checkStates({ upbit: { states } }: Streams): Verdict {
  if (states.size === 0) return unknown('no market_state', 'Halts are noticed by is_trading_suspended alone.')
  const seen = [...states].map(([state, count]) => `${state} ${count}`).join(', ')
  const others = [...states.keys()].filter(state => !KNOWN_STATES.includes(state))
  return others.length === 0
    ? ok(seen)
    : unknown(seen, `The service trades on in ${others}. Tell the project.`)
}
