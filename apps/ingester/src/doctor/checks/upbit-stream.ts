import { DISORDER_MS, type EpochMs, type Market, type Tick } from '@kimchi/core'
import { SubscriptionRefused } from '@kimchi/feeds'
import type { ExchangeAccess } from '../exchange-access.ts'
import { fail, ok, someOf, unknown, unknownBecause, type Verdict, worstOf } from '../finding.ts'
import { judgeFrames, type Streams, type WatchedStream } from '../watched-stream.ts'

const SNAPSHOTS_WITHIN_MS = 10_000

const RENEW_AFTER_MS = 15_000

const DEGRADED_ADVICE = 'The service goes on, less well: docs/exchanges.md says how. Tell the project.'

/** Why no stream came. */
export function judgeRefusal(thrown: unknown): Verdict {
  if (!(thrown instanceof SubscriptionRefused)) return unknownBecause(thrown)
  return fail(thrown.message, 'If it names a code, DENY=SYMBOL excludes its coin. Tell the project.')
}

/** Whether Upbit accepts every code and sends frames of each that can be read. */
export function checkCodes({ upbit }: Streams): Verdict {
  const { markets, connection } = upbit
  const snapshots = snapshotsSince(upbit, connection.openedAt ?? 0)
  const missing = markets.filter(market => !snapshots.has(market))
  const seen = `SNAPSHOTs of ${markets.length - missing.length} of ${markets.length}`
  const isWhole = missing.length === 0
  return worstOf([
    isWhole ? ok(seen) : fail(`${seen}; none of ${someOf(missing)}`, DEGRADED_ADVICE),
    judgeFrames(upbit),
  ])
}

/** Markets of which a SNAPSHOT came soon after an instant. */
function snapshotsSince(stream: WatchedStream, from: EpochMs): ReadonlySet<Market> {
  const isSoon = ({ origin, receivedAt: at }: Tick) =>
    origin === 'snapshot' && at >= from && at < from + SNAPSHOTS_WITHIN_MS
  return new Set(stream.ticks.filter(isSoon).map(({ market }) => market))
}

/** Sends the identical subscription again: its SNAPSHOTs are how a halt on Upbit is noticed. */
export async function checkRenewal({ upbit }: Streams, access: ExchangeAccess): Promise<Verdict> {
  const { clock, signal } = access.context
  await clock.wait(RENEW_AFTER_MS, signal)
  const renewedAt = clock.now()
  upbit.connection.subscribe()
  await clock.wait(SNAPSHOTS_WITHIN_MS, signal)
  if (upbit.connection.signal.aborted) return unknown('the connection ended meanwhile')
  const first = snapshotsSince(upbit, upbit.connection.openedAt ?? 0)
  const later = snapshotsSince(upbit, renewedAt)
  const seen = `${first.size} SNAPSHOTs at first, then ${later.size}`
  if (first.size === 0) return unknown(seen)
  const missing = [...first].filter(market => !later.has(market))
  return missing.length === 0 ? ok(seen) : fail(`${seen}; not of ${someOf(missing)}`, DEGRADED_ADVICE)
}

/** How late trades come behind a newer one of their exchange, beside what the service waits for them. */
export function checkDisorder({ upbit, binance }: Streams): Verdict {
  return worstOf([upbit, binance].map(judgeDisorder))
}

function judgeDisorder({ exchange, ticks }: WatchedStream): Verdict {
  const known = new Map<Market, EpochMs>()
  let newest = Number.NEGATIVE_INFINITY
  let [disorderMs, frames] = [0, 0]
  for (const { origin, market, eventAt } of ticks) {
    const isTrade = origin === 'stream' && eventAt > (known.get(market) ?? Number.NEGATIVE_INFINITY)
    known.set(market, Math.max(eventAt, known.get(market) ?? eventAt))
    if (!isTrade) continue
    frames += 1
    disorderMs = Math.max(disorderMs, newest - eventAt)
    newest = Math.max(newest, eventAt)
  }
  if (frames === 0) return unknown(`no frame of ${exchange}`)
  const assumedMs = DISORDER_MS[exchange]
  const seen = `${exchange} ${disorderMs} ms at most in ${frames} frames, ${assumedMs} ms are waited for`
  return disorderMs <= assumedMs ? ok(seen) : fail(seen, 'Published prices may be wrong. Tell the project.')
}
