import { utcMs } from '@kimchi/client'
import { describe, type Firing } from './alerts/alert.ts'
import { isOverdue, type Live } from './live/live.ts'
import { fill } from './text/language.ts'
import { useTick, useView, type View } from './view.ts'

/** What a reader must know before reading a number, and the alerts whose threshold is reached. */
export function Notices({ firing, ...live }: Live & { firing: readonly Firing[] }) {
  const view = useView()
  const { t, f, now, isSimulated } = view
  useTick()
  const { list } = live
  const trouble = troubleOf(live, view)
  return (
    <>
      {isSimulated && (
        <p class="notice simulated" role="note">
          {t.simulated}
        </p>
      )}
      <div role="status">
        {trouble && (
          <p class="notice trouble" {...(list && { title: f.utc(utcMs(list.updated_at), now()) })}>
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

/** Why the list is not current, and how old it is; undefined while it is, or when the service has just started. */
function troubleOf({ list, error }: Live, view: View): string | undefined {
  const { t, f } = view
  const now = view.now()
  if (!list) return error && error.code !== 'not_ready' ? t.downEmpty : undefined
  if (!error && !isOverdue(list, now)) return undefined
  const at = utcMs(list.updated_at)
  return fill(error ? t.down : t.overdue, f.time(at, now)).replace('{ago}', fill(t.ago, f.age(now - at)))
}

/** Says that something could not be loaded, and offers to try again where that may help. */
export function Failure({ text, onRetry }: { text: string; onRetry?: () => void }) {
  const { t } = useView()
  return (
    <p class="notice trouble" role="alert">
      {text}{' '}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          {t.retry}
        </button>
      )}
    </p>
  )
}
