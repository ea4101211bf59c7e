/** Percent between two lines. */
const LINE_EVERY = 25

/** Progress that takes less time than this needs no lines: nobody waits for it. */
const LINE_AFTER_MS = 2_000

/**
 * Returns a function that prints a growing percentage at each quarter, and starts over when it falls. Quarters that
 * follow each other at once are one line, as when a second start has nothing left to do.
 */
export function reportQuarters(label: string, say: (line: string) => void, now: () => number) {
  let said = 0
  let changedAt = now()
  return (percent: number): void => {
    const quarter = percent - (percent % LINE_EVERY)
    if (quarter === said) return
    const isWaitedFor = now() - changedAt >= LINE_AFTER_MS
    changedAt = now()
    if (quarter > said && (quarter === 100 || isWaitedFor)) say(`${label}: ${quarter} %`)
    said = quarter
  }
}
