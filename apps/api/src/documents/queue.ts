/** Runs a piece of work in its turn. */
export type Queue = <T>(work: () => Promise<T>) => Promise<T>

/**
 * Runs pieces of work in the order in which they were given, a few at a time.
 * @param width how many run at a time
 */
export function createQueue(width: number): Queue {
  const waiting: (() => void)[] = []
  let running = 0
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= width) await new Promise<void>(resolve => waiting.push(resolve))
    else running += 1
    try {
      return await work()
    } finally {
      // Whoever waits takes this one's place.
      const next = waiting.shift()
      if (next !== undefined) next()
      else running -= 1
    }
  }
}
