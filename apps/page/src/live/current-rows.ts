import { type CoinPremium, type LiveList, utcMs } from '@kimchi/client'
import { useMemo } from 'preact/hooks'
import { useNow } from '../view.ts'

/** Each minute is published within 5 s of its end: at this age of the newest one, three others are missing. */
const OVERDUE_MS = 4 * 60_000

/**
 * The rows that may stand as the present: those of the newest minute, while no later one is overdue. Whatever shows a
 * value as current takes it from these; of any other row it says how old it is.
 * @param now milliseconds since the epoch, by the server's clock
 */
export function currentRows(list: LiveList | undefined, now: number): readonly CoinPremium[] {
  if (!list || now - utcMs(list.updated_at) > OVERDUE_MS) return []
  return list.data.filter(({ snapshot_at }) => snapshot_at === list.updated_at)
}

/** The current rows of a list. Draws a component again when they no longer are. */
export function useCurrentRows(list: LiveList | undefined, now: () => number): readonly CoinPremium[] {
  const count = useNow(() => currentRows(list, now()).length)
  return useMemo(() => currentRows(list, now()), [list, count])
}
