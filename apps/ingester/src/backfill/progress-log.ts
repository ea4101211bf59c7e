import type { Log } from '@kimchi/core'

/** Takes note of minutes that have been decided, and of all that has been counted so far. */
export type LogProgress = (
  symbol: string,
  minutes: number,
  counts: { readonly samples: number; readonly gaps: number },
) => void

/**
 * Logs how far the work is, each time by another whole percent; after 100 it begins again.
 * @param missing how many minutes are left
 */
export function createProgressLog(missing: () => number, log: Pick<Log, 'info'>): LogProgress {
  let done = 0
  let percent = 0
  return (symbol, minutes, { samples, gaps }) => {
    done += minutes
    const left = missing()
    const now = Math.floor((100 * done) / (done + left))
    // More may be found to do than was known: the percentage waits rather than goes back.
    if (percent === 100 ? now < 100 : now > percent) {
      log.info({ symbol, percent: now, samples, gaps }, 'backfill')
      percent = now
    }
    if (left === 0) done = 0
  }
}
