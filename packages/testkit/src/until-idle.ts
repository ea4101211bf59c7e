import { performance } from 'node:perf_hooks'
import { setImmediate as turn } from 'node:timers/promises'

/**
 * Lets everything come to rest that is under way between sockets of this process: until its event loop has
 * found nothing to do, twice. What another process has yet to answer is not seen.
 */
export async function untilIdle(): Promise<void> {
  for (let quiet = 0; quiet < 2; ) {
    const { events } = performance.nodeTiming.uvMetricsInfo
    await turn()
    quiet = performance.nodeTiming.uvMetricsInfo.events === events ? quiet + 1 : 0
  }
}
