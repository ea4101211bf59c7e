import { type ApiError, utcMs } from '@kimchi/client'
import { describe, type Firing } from './alerts/alert.ts'
import type { Live } from './live/live.ts'
import type { Texts } from './text/en.ts'
import { fill } from './text/language.ts'
import { useNow, useView, type View } from './view.ts'

/** What a reader must know before reading a number, and the alerts whose threshold is reached. */
export function Notices({ firing, ...live }: Live & { firing: readonly Firing[] }) {
  const view = useView()
  const { t, f, now, isSimulated } = view
  const { list } = live
  const trouble = useNow(() => troubleOf(live, view))
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

/** Why the list is not current, and how old it is; undefined while all is well, or the page says it in its middle. */
function troubleOf({ list, error, isAnswered }: Live, view: View): string | undefined {
  const { t, f, current } = view
  const now = view.now()
  if (!list) return error && error.code !== 'not_ready' ? `${causeOf(error, t)} ${t.retrying}` : undefined
  if (!error && (list.count === 0 || current.length > 0)) return undefined
  const at = utcMs(list.updated_at)
  const text = error
    ? `${causeOf(error, t)} ${t.pricesFrom} ${t.retrying}`
    : isAnswered
      ? t.overdue
      : t.loadingOld
  return fill(text, f.time(at, now)).replace('{ago}', fill(t.ago, f.age(now - at)))
}

/** What a page can know of a failure. */
export function causeOf({ code, status = 0 }: ApiError, t: Texts): string {
  // A proxy in front says with 502 and 504 that the API has not answered it.
  const isAway = code === 'unreachable' || status === 502 || status === 504
  return isAway ? t.unreachable : code === 'not_ready' ? t.notReady : t.failing
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
