import type { EpochMs, Exchange, Milliseconds } from '@kimchi/core'
import type { WatchedStream } from './watched-stream.ts'
import type { World } from './world.ts'

/** `ok`: it is so. `FAIL`: it is not. `unknown`: could not be seen, or a person has to decide. */
export type Outcome = 'ok' | 'FAIL' | 'unknown'

/** What a check makes of what was seen. */
export interface Verdict {
  readonly outcome: Outcome
  readonly seen: string
  /** What to do; empty for `ok`. */
  readonly advice: string
}

/** One assumption of the service, and how to tell whether it holds. */
export interface Check {
  readonly check: string
  readonly expected: string
  readonly judge: (world: World) => Verdict
}

/** A check with its verdict: an entry of `--json`. */
export interface Finding extends Verdict {
  readonly check: string
  readonly expected: string
}

export const ok = (seen: string): Verdict => ({ outcome: 'ok', seen, advice: '' })
export const fail = (seen: string, advice: string): Verdict => ({ outcome: 'FAIL', seen, advice })
export const unknown = (seen: string, advice = 'Run the doctor again.'): Verdict => {
  return { outcome: 'unknown', seen, advice }
}

/** The finding as one line for a person. */
export function lineOf({ check, outcome, expected, seen, advice }: Finding): string {
  const line = `${outcome.padEnd(7)} ${check}: expected ${expected}; seen: ${seen}`
  return advice === '' ? line : `${line}. ${advice}`
}

/** Some of many, as the end of a sentence. */
export function someOf(names: readonly string[], most = 8): string {
  const rest = names.length - most
  return rest > 0 ? `${names.slice(0, most).join(', ')} and ${rest} more` : names.join(', ')
}

/** Milliseconds as seconds with one decimal. */
export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}

/** A verdict about a stream; without the stream there is none. */
export function onStream(
  name: 'upbit' | 'idle' | 'binance',
  judge: (stream: WatchedStream, world: World) => Verdict,
): Check['judge'] {
  return world => {
    const stream = world[name]
    if (stream === undefined) return unknown('no stream', 'See the bases above.')
    const { openedAt, ending } = stream.connection.state
    return openedAt === undefined ? unknown(ending?.error?.message ?? 'never open') : judge(stream, world)
  }
}

/** Whether a connection stayed open for so long; unknown when the doctor itself closed it sooner. */
export function judgeLifetime(
  stream: WatchedStream,
  leftAt: EpochMs,
  leastMs: Milliseconds,
  advice: string,
): Verdict {
  const openMs = stream.openFor(leftAt)
  const seen = `open for ${seconds(openMs)}`
  if (openMs >= leastMs) return ok(seen)
  const { ending } = stream.connection.state
  return ending?.error === undefined ? unknown(seen) : fail(`${seen}, ${ending.error.message}`, advice)
}

/** The exchange's name in a sentence. */
export function nameOf(exchange: Exchange): string {
  return exchange === 'upbit' ? 'Upbit' : 'Binance'
}
