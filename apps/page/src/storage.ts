import { useEffect, useState } from 'preact/hooks'

/** Values that the device did not store, because its storage is full or forbidden. */
const unkept = new Map<string, string>()

const nameOf = (key: string) => `kimchi.${key}`

/** The value that this device keeps under a key; undefined when there is none, or none that can be read. */
export function recall<T>(key: string): T | undefined {
  try {
    return JSON.parse(unkept.get(key) ?? localStorage.getItem(nameOf(key)) ?? 'null') ?? undefined
  } catch {
    return undefined
  }
}

/** Keeps a value on this device, or else as long as the page is open. */
export function keep(key: string, value: unknown): void {
  const text = JSON.stringify(value ?? null)
  try {
    localStorage.setItem(nameOf(key), text)
    unkept.delete(key)
  } catch {
    unkept.set(key, text)
  }
}

/** A value that this device keeps, and what puts another in its place. */
export type Kept<T> = readonly [T, (value: T) => void]

/** A value that this device keeps, the same in each of its tabs. */
export function useKept<T>(key: string, initial: T): Kept<T> {
  const read = () => recall<T>(key) ?? initial
  const [value, setValue] = useState(read)
  const put = (next: T) => {
    setValue(() => next)
    keep(key, next)
  }
  useEffect(() => {
    const follow = (event: StorageEvent) => event.key === nameOf(key) && setValue(read)
    addEventListener('storage', follow)
    return () => removeEventListener('storage', follow)
  }, [key])
  return [value, put]
}
