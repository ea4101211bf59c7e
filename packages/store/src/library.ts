import { readFileSync } from 'node:fs'
import type { RedisConnection } from './redis/connect.ts'

/** Source of the function library; read from `src` whether this runs from `src` or from `dist`. */
const LIBRARY_SOURCE = ['kimchi.lua', 'write.lua', 'mend.lua', 'read.lua', 'print.lua']
  .map(file => readFileSync(new URL(`../src/lua/${file}`, import.meta.url), 'utf8'))
  .join('\n')

/** Version that this code needs; a loaded newer one serves as well. */
export const LIBRARY_VERSION = versionOf(LIBRARY_SOURCE)

/**
 * Loads the library into every primary where it is missing or older. A newer one is left alone. Resolves with
 * the errors of primaries that could not be reached: only the one that holds our keys needs it.
 */
export function loadLibrary(redis: RedisConnection): Promise<readonly unknown[]> {
  return redis.callPrimaries(async call => {
    const libraries = await call('FUNCTION', 'LIST', 'LIBRARYNAME', 'kimchi', 'WITHCODE')
    if (versionOf(JSON.stringify(libraries)) < LIBRARY_VERSION) {
      await call('FUNCTION', 'LOAD', 'REPLACE', LIBRARY_SOURCE)
    }
  })
}

function versionOf(text: string): number {
  return Number(/local VERSION = (\d+)/.exec(text)?.[1] ?? 0)
}
