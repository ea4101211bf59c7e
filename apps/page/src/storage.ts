import { useState } from 'preact/hooks'

/**
 * What this device keeps, in the browser's storage. When that is full or forbidden nothing is kept, and nothing
 * breaks.
 */
export class Shelf {
  readonly #storage: () => Pick<Storage, 'getItem' | 'setItem'>

  constructor(storage: () => Pick<Storage, 'getItem' | 'setItem'>) {
    this.#storage = storage
  }

  /** The value that was put there last; undefined when there is none, or none that can be read. */
  get<T>(key: string): T | undefined {
    try {
      return JSON.parse(this.#storage().getItem(`kimchi.${key}`) ?? 'null') ?? undefined
    } catch {
      return undefined
    }
  }

  put(key: string, value: unknown): void {
    try {
      this.#storage().setItem(`kimchi.${key}`, JSON.stringify(value))
    } catch {
      // The page works without it; nothing to report.
    }
  }
}

/** A value that this device keeps, and what puts another in its place. */
export type Kept<T> = readonly [T, (value: T) => void]

/** A value that this device keeps. */
export function useKept<T>(shelf: Shelf, key: string, initial: T): Kept<T> {
  const [value, setValue] = useState<T>(() => shelf.get(key) ?? initial)
  const keep = (next: T) => {
    setValue(() => next)
    shelf.put(key, next)
  }
  return [value, keep]
}
