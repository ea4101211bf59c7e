import { type Check, fail, nameOf, ok, unknown, type Verdict } from '../finding.ts'
import type { BaseVariable, World } from '../world.ts'

const VARIABLES: readonly BaseVariable[] = [
  'UPBIT_REST_URL',
  'UPBIT_WS_URL',
  'BINANCE_REST_URL',
  'BINANCE_WS_URL',
]

/** Samples stop beyond this. */
const MAX_SKEW_MS = 2_000

/** Where the exchanges answer, our clock, and how much may be asked. */
export const baseChecks: readonly Check[] = [
  ...VARIABLES.map(variable => ({
    check: `a base of ${variable}`,
    expected: 'one base of the list answers from here',
    judge: ({ bases }: World) => judgeBases(variable, bases),
  })),
  ...(['upbit', 'binance'] as const).map(exchange => ({
    check: `own clock against ${nameOf(exchange)}`,
    expected: 'the median of receive time minus send time within 2 s',
    judge: (world: World) => judgeClock(world[exchange]?.ticks ?? []),
  })),
  {
    check: "Upbit's limits",
    expected: 'Remaining-Req names the candle group and leaves requests',
    judge: ({ limits }) => judgeLimits(limits.upbit, text => Number(/sec=(\d+)/.exec(text)?.[1]) > 0),
  },
  {
    check: "Binance's limits",
    expected: 'X-MBX-USED-WEIGHT-1M stays below half of 6000',
    judge: ({ limits }) => judgeLimits(limits.binance, text => Number(text) < 3_000),
  },
]

function judgeBases(variable: BaseVariable, all: World['bases']): Verdict {
  const bases = all.filter(answer => answer.variable === variable)
  const said = bases.map(answer => `${answer.base} ${answer.said}`).join('; ')
  if (bases.length === 0) return unknown('not asked')
  if (!bases.some(({ isAnswering }) => isAnswering)) {
    return fail(said, `Run the service elsewhere, or set ${variable} to a base that answers here.`)
  }
  const first = bases.find(({ isAnswering }) => isAnswering)
  return ok(`${said}; in use: ${first?.base}`)
}

function judgeClock(ticks: NonNullable<World['upbit']>['ticks']): Verdict {
  const lags = ticks.flatMap(({ origin, sentAt, receivedAt }) =>
    origin === 'stream' && sentAt !== undefined ? [receivedAt - sentAt] : [],
  )
  const median = lags.sort((a, b) => a - b)[lags.length >> 1]
  if (median === undefined) return unknown('no frame with a time')
  const seen = `${median} ms in ${lags.length} frames`
  return Math.abs(median) <= MAX_SKEW_MS ? ok(seen) : fail(seen, 'Let NTP set the clock of this machine.')
}

function judgeLimits(values: readonly string[], isWell: (text: string) => boolean): Verdict {
  const [before, after] = values
  if (before === undefined || after === undefined) return unknown('the header is not there before and after')
  const seen = `before: ${before}; after: ${after}`
  return isWell(after) ? ok(seen) : fail(seen, 'Something else on this address asks this exchange too.')
}
