import { type EventEmitter, getEventListeners } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What a run holds at an instant, by name. */
export type Resources = Readonly<Record<string, number>>

/** Of what happens to be under way at an instant there may be so many more. */
const UNDER_WAY: Resources = { waits: 6, listeners: 6 }

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** What the parts of a run hold. @param links connections to Redis */
export function heldBy(
  sockets: number,
  links: ReadonlySet<EventEmitter>,
  hosts: readonly { readonly waits: ReadonlyMap<number, { readonly signal: AbortSignal | undefined }> }[],
) {
  const waits = hosts.flatMap(host => [...host.waits.values()])
  let listeners = 0
  for (const link of links) for (const name of link.eventNames()) listeners += link.listenerCount(name)
  for (const signal of new Set(waits.map(({ signal }) => signal)))
    if (signal) listeners += getEventListeners(signal, 'abort').length
  return { sockets, links: links.size, waits: waits.length, listeners }
}

/** Bytes on the heap and outside of it that somebody holds. */
export async function heldBytes(): Promise<number> {
  // What one collection finds to be held by nothing else, the next one frees.
  for (let times = 0; times < 3; times++) {
    collect()
    await setImmediate()
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** What has grown by more than a tenth, and by more than what may be under way, or from none, in words. */
export function grown(first: Resources, last: Resources): string[] {
  return Object.entries(last).flatMap(([name, count]) => {
    const before = first[name] ?? 0
    const most = before && Math.max(before * 1.1, before + (UNDER_WAY[name] ?? 0))
    return count > most ? [`${name} have grown from ${before} to ${count}`] : []
  })
}

/**
 * What has grown when what expires does so: of fourteen days, from the ninth to the last. Nothing in less than a week: an
 * ingester's cache of candles fills for three days.
 */
export function grownOverDays(days: readonly Resources[]): string[] {
  const [settled, last] = [days[Math.ceil((days.length * 9) / 14) - 1], days.at(-1)]
  return settled && last && days.length >= 7 ? grown(settled, last) : []
}
