/** What this device keeps, by key. */
export interface Shelf {
  /** What was put there last; undefined when there is nothing, or nothing readable. */
  get<T>(key: ShelfKey): T | undefined
  put(key: ShelfKey, value: unknown): void
}

/** Everything that is kept. */
export type ShelfKey =
  | 'language'
  | 'theme'
  | 'favourites'
  | 'favouritesOnly'
  | 'movingAverage'
  | 'alerts'
  | 'live'
  | 'history'

/**
 * A shelf in the browser's storage. It may be full or forbidden: then nothing is kept, and nothing breaks.
 */
export function createShelf(storage: () => Pick<Storage, 'getItem' | 'setItem'>): Shelf {
  return {
    get: key => {
      try {
        return JSON.parse(storage().getItem(`kimchi.${key}`) ?? 'null') ?? undefined
      } catch {
        return undefined
      }
    },
    put: (key, value) => {
      try {
        storage().setItem(`kimchi.${key}`, JSON.stringify(value))
      } catch {
        // The page works without it; nothing to report.
      }
    },
  }
}
