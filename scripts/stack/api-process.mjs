/**
 * How the API's process is started, by hand, in the image and in the benchmark. A replica at 200 coins with all histories
 * held is a quarter smaller with these, and no slower. A test holds `apps/api/package.json` and the Dockerfile to them.
 */

/** A small young generation, collected without waking threads that would take the core from the requests. */
export const API_FLAGS = ['--max-semi-space-size=4', '--no-parallel-scavenge']

/** For glibc: one arena, and bodies in mappings of their own, so that last minute's are given back to the system. */
export const API_MALLOC = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '32768' }
