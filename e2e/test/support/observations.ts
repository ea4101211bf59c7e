import { type AuditResult, ask, eventually, type Program, type RawRedis } from '@kimchi/testkit'
import type { Test } from 'tap'
import { opsPortOf } from '../../src/apps.ts'

/** The audit found nothing; else the test fails with what it found. */
export function isWhole(t: Test, { lost, doubled, wrong, live, candle, findings }: AuditResult): void {
  t.strictSame({ lost, doubled, wrong, findings }, { lost: 0, doubled: 0, wrong: 0, findings: [] })
  t.comment(`${live} live and ${candle} candle samples audited`)
}

/** What an ingester logged about one minute turn. */
export interface MinuteLine {
  readonly minute: number
  readonly samples: number
  readonly gaps: number
}

/** The minute turns that an ingester logged, from its line `from` on. */
export function minutesOf({ lines }: Program, from = 0): MinuteLine[] {
  return lines
    .slice(from)
    .filter(line => line.includes('"msg":"minute"'))
    .map(line => JSON.parse(line))
}

/** Whether a minute has a sample of every coin of a testbed that has four. */
export const hasAll = ({ samples }: Pick<MinuteLine, 'samples'>): boolean => samples === 4

/** The next minute turn from now that satisfies the test. */
export function nextMinute(ingester: Program, test: (line: MinuteLine) => boolean): Promise<MinuteLine> {
  const from = ingester.lines.length
  return eventually('such a minute turn', async () => minutesOf(ingester, from).find(test))
}

/** A coin's sample of a minute as people at redis-cli see it, as soon as it is stored; meanwhile Redis may refuse. */
export function untilStored(raw: RawRedis, symbol: string, minute: number): Promise<string[]> {
  return eventually(`${symbol} at ${minute}`, async () => {
    const asked = raw.call('FCALL_RO', ['kp_samples', 1, '{kp}:meta', symbol, minute, minute + 1])
    const lines = (await asked.catch(() => [])) as string[]
    return lines.length > 0 ? lines : undefined
  })
}

/** The reasons that an ingester's `/ready` gives, and its status. */
export async function readiness(ingester: Program): Promise<{ status: number; text: string }> {
  const { status, body } = await ask(await opsPortOf(ingester), '/ready')
  return { status, text: String(body) }
}
