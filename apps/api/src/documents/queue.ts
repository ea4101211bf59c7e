import pLimit from 'p-limit'

/** Runs a piece of work in its turn. */
export type Queue = <T>(work: () => Promise<T>) => Promise<T>

/**
 * Runs pieces of work in the order in which they were given, a few at a time.
 * @param width how many run at a time
 */
export const createQueue: (width: number) => Queue = pLimit
