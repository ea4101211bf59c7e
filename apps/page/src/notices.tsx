import { utcMs } from '@kimchi/client'
import { describe, type Firing } from './alerts/alert.ts'
import { isOverdue, type Live } from './live/live.ts'
import { fill } from './text/language.ts'
import { useView } from './view.ts'

/** What a reader must know before reading a number, and the alerts whose threshold is reached. */
export function Notices({ list, error, isGathering, firing }: Live & { firing: readonly Firing[] }) {
  const { t, f, now, isSimulated } = useView()
  const at = list && utcMs(list.updated_at)
  const text = error ? (list ? t.down : t.downEmpty) : list && isOverdue(list, now) ? t.overdue : undefined
  const trouble =
    at === undefined
      ? text
      : text && fill(text, f.time(at, now)).replace('{ago}', fill(t.ago, f.age(now - at)))
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

/** Says that something could not be loaded, and tries again where that may help. */
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
