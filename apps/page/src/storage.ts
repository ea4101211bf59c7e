import { useState } from 'preact/hooks'

/** The value that this device keeps under a key; undefined when there is none, or none that can be read. */
export function recall<T>(key: string): T | undefined {
  try {
    return JSON.parse(localStorage.getItem(`kimchi.${key}`) ?? 'null') ?? undefined
  } catch {
    return undefined
  }
}

/** Keeps a value on this device. When its storage is full or forbidden nothing is kept, and nothing breaks. */
export function keep(key: string, value: unknown): void {
  try {
    localStorage.setItem(`kimchi.${key}`, JSON.stringify(value))
  } catch {
    // The page works without it; nothing to report.
  }
}

/** A value that this device keeps, and what puts another in its place. */
export type Kept<T> = readonly [T, (value: T) => void]

/** A value that this device keeps. */
export function useKept<T>(key: string, initial: T): Kept<T> {
  const [value, setValue] = useState<T>(() => recall(key) ?? initial)
  const put = (next: T) => {
    setValue(() => next)
    keep(key, next)
  }
  return [value, put]
}
