/**
 * Version of all keys and of the sample codec; a writer of another layout is refused.
 * @see docs/architecture.md#data-in-redis
 */
export const LAYOUT_VERSION = 1

/** Every call names this key. Its hash tag puts all keys into one slot, so that one call may touch all of them. */
export const META_KEY = '{kp}:meta'

/** The channel of the epoch minute that was just written. */
export const MINUTE_CHANNEL = '{kp}:minute'

/** The reason of a settled minute whose premium was outside of the range of a sample. */
export const IMPLAUSIBLE = 'implausible, beyond a factor of four'

/** The reason that versions with a narrower range wrote: such a minute is decided once more. */
export const IMPLAUSIBLE_BEFORE = 'implausible'

/** set · dates of days that an import has made as whole as they can be, with fewer than 1,440 samples · kept */
export function importedKey(symbol: string): string {
  return `{kp}:imported:${symbol}`
}
