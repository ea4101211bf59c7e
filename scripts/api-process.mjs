/**
 * How the API's process is started, by hand, in the image and in the benchmark. A replica at 200 coins with
 * all histories held is a quarter smaller with these, and a few per cent slower at most. A test holds
 * `apps/api/package.json` and the Dockerfile to them.
 */

/**
 * A small young generation, collected without waking threads that would take the core from the requests; and
 * an old one, with the bodies it holds on to, that is collected when it has grown by a third, where V8 would
 * let it double first.
 */
export const API_FLAGS = ['--max-semi-space-size=4', '--no-parallel-scavenge', '--heap-growing-percent=30']

/**
 * For glibc: one arena, and bodies in mappings of their own, so that last minute's are given back to the
 * system.
 */
export const API_MALLOC = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '32768' }
