import { utcMs } from '@kimchi/client'
import { describe, type Firing } from './alerts/alert.ts'
import type { Live } from './live/live.ts'
import { fill } from './text/language.ts'
import { useView } from './view.ts'

/** A minute is published within 5 s of its end; by then three more have passed. */
const OVERDUE_MS = 4 * 60_000

/** Whether the newest minute is older than it can be while the service has prices. */
export function isOverdue(minute: number, now: number): boolean {
  return now - minute > OVERDUE_MS
}

/** What a reader must know before reading a number, and the alerts whose threshold is reached. */
export function Notices({ list, error, isGathering, firing }: Live & { firing: readonly Firing[] }) {
  const { t, f, now, isSimulated } = useView()
  const at = list && utcMs(list.updated_at)
  const ago = at === undefined ? '' : fill(t.ago, f.age(now - at))
  const since = (text: string) => fill(text, at === undefined ? '' : f.time(at, now)).replace('{ago}', ago)
  const trouble = error
    ? since(at === undefined ? t.downEmpty : t.down)
    : at !== undefined && isOverdue(at, now)
      ? since(t.overdue)
      : undefined
  return (
    <>
      {isSimulated && (
        <p class="notice simulated" role="note">
          {t.simulated}
        </p>
      )}
      <div role="status">
        {trouble && !isGathering && (
          <p class="notice trouble" {...(at !== undefined && { title: f.utc(at, now) })}>
            {trouble}
          </p>
        )}
      </div>
      <div role="status">
        {firing.length > 0 && (
          <p class="notice firing">
            {t.alert}: {firing.map(alert => describe(alert, t, f)).join(' · ')}
          </p>
        )}
      </div>
    </>
  )
}
