import { utcMs } from '@kimchi/client'
import type { Live } from './live/live.ts'
import { fill } from './text/language.ts'
import { useView } from './view.ts'

/** A minute is out 5 s after its end; by then three more have passed. */
const OVERDUE_MS = 4 * 60_000

/** What a reader must know before reading a number. */
export function Notices({ list, error }: Pick<Live, 'list' | 'error'>) {
  const { t, f, now } = useView()
  const at = list && utcMs(list.updated_at)
  const when = at === undefined ? '' : `${f.time(at, now)} (${fill(t.ago, f.age(now - at))})`
  const trouble = error
    ? fill(at === undefined ? t.downEmpty : t.down, when)
    : at !== undefined && now - at > OVERDUE_MS
      ? fill(t.overdue, when)
      : undefined
  return (
    <>
      {list?.note?.startsWith('SIMULATED') && (
        <p class="notice simulated" role="note">
          {t.simulated}
        </p>
      )}
      <div role="status">{trouble && <p class="notice trouble">{trouble}</p>}</div>
    </>
  )
}
