import { type ApiError, utcMs } from '@kimchi/client'
import type { Live } from './live/live.ts'
import type { Texts } from './text/en.ts'
import { fill } from './text/language.ts'
import { useNow, useView, type View } from './view.ts'

/** At the foot of the screen, however far somebody has scrolled: how old the list is, and why. */
export function StatusBar(live: Live) {
  const view = useView()
  const { t, now, timeOf, ago } = view
  const { list } = live
  const trouble = useNow(() => troubleOf(live, view))
  const age = useNow(() => list && ago(now() - utcMs(list.updated_at)))
  return (
    <div class="status">
      <div role="status">{trouble && <p class="trouble">{trouble}</p>}</div>
      {list && !trouble && (
        <p class="age">
          {t.updated} <time dateTime={`${list.updated_at}Z`}>{timeOf(list.updated_at)}</time> · {age}
        </p>
      )}
    </div>
  )
}

/** Why the list is not current, and how old it is; undefined while all is well, or the page says it in its middle. */
function troubleOf({ list, error, isAnswered }: Live, view: View): string | undefined {
  const { t, current, now, timeOf, ago } = view
  if (!list) return error && error.code !== 'not_ready' ? `${causeOf(error, t)} ${t.retrying}` : undefined
  if (!error && (list.count === 0 || current.length > 0)) return undefined
  const [cause, after] = error ? [causeOf(error, t), t.retrying] : [isAnswered ? t.overdue : t.loading, '']
  const age = ago(now() - utcMs(list.updated_at))
  return `${cause} ${fill(fill(t.pricesFrom, timeOf(list.updated_at)), age)} ${after}`.trim()
}

/** As much as a page can tell about a failure. */
export function causeOf({ code, status = 0 }: ApiError, t: Texts): string {
  if (status === 429) return t.tooMany
  // A proxy in front says with 502 and 504 that the API has not answered it.
  const isAway = code === 'unreachable' || status === 502 || status === 504
  return isAway ? t.unreachable : code === 'not_ready' ? t.notReady : t.failing
}
