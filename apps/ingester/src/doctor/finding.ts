import { messageOf } from '@kimchi/core'

/** A line shows so many names, and counts the others. */
const MOST_NAMES = 8

/** What the service assumes, by the name of its check, in the order of the doctor's lines. */
export const EXPECTED = {
  bases: 'one base of each list answers, and Upbit counts our requests by their own group',
  clock: 'the median of receive time minus send time within 2 s of both exchanges',
  lists: 'both load, most of the wanted coins are on both, and Upbit names them',
  pairs: "each pair's premium within 5 points of the median, or Upbit itself warns of a gap",
  'Upbit, codes': 'a SNAPSHOT of every code, none refused, no malformed frame',
  'Upbit, renewal': 'the subscription sent again brings SNAPSHOTs of all codes again',
  'Binance, streams': 'SUBSCRIBE acknowledged, and `symbolStatus` lists what trades and nothing else',
  disorder: 'no trade comes later behind a newer one than the service waits',
  rows: 'two minutes of all coins as the service would publish them, with the prices of their candles',
  candles: 'final 10 s after the minute',
} as const

export type CheckName = keyof typeof EXPECTED

export interface Verdict {
  /** `ok`: it is so. `FAIL`: it is not. `unknown`: it was not asked or answered, or a person has to decide. */
  readonly outcome: 'ok' | 'FAIL' | 'unknown'
  readonly seen: string
  /** What to do; empty for `ok`. */
  readonly advice: string
}

/** A check with its verdict: an entry of `--json`. */
export interface Finding extends Verdict {
  readonly check: CheckName
  readonly expected: string
}

export const ok = (seen: string): Verdict => ({ outcome: 'ok', seen, advice: '' })
export const fail = (seen: string, advice = 'Tell the project.'): Verdict => {
  return { outcome: 'FAIL', seen, advice }
}
export const unknown = (seen: string, advice = 'Run the doctor again.'): Verdict => {
  return { outcome: 'unknown', seen, advice }
}
/** The verdict on what an error has hidden. */
export const unknownBecause = (thrown: unknown): Verdict => unknown(messageOf(thrown))

/** The verdict on several things of which each was judged: FAIL before unknown before ok, none said twice. */
export function worstOf(verdicts: readonly Verdict[]): Verdict {
  const of = (outcome: Verdict['outcome']) => verdicts.filter(verdict => verdict.outcome === outcome)
  const sorted = [...of('FAIL'), ...of('unknown'), ...of('ok')]
  const seen = new Set(sorted.map(({ seen }) => seen).filter(seen => seen !== ''))
  return { ...(sorted[0] ?? ok('')), seen: someOf([...seen], '; ') }
}

export function lineOf({ check, outcome, expected, seen, advice }: Finding): string {
  const line = `${outcome.padEnd(7)} ${check}: ${seen} (expected: ${expected})`
  return advice === '' ? line : `${line}. ${advice}`
}

/** All findings in one line: `10 ok`, or `2 failed, 3 not known`. */
export function summaryOf(findings: readonly Finding[]): string {
  const count = (outcome: Verdict['outcome']) =>
    findings.filter(finding => finding.outcome === outcome).length
  const [failed, unseen] = [count('FAIL'), count('unknown')]
  const parts = [failed > 0 ? `${failed} failed` : [], unseen > 0 ? `${unseen} not known` : []]
  return parts.flat().join(', ') || `${findings.length} ok`
}

/** Some of many, as the end of a sentence. */
export function someOf(names: readonly string[], separator = ', '): string {
  const rest = names.length - MOST_NAMES
  return names.slice(0, MOST_NAMES).join(separator) + (rest > 0 ? ` and ${rest} more` : '')
}
