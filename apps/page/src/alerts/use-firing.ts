import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { View } from '../view.ts'
import { type Alert, describe, type Firing, firingOf } from './alert.ts'
import { notify } from './notify.ts'

/** The alerts that fire now. Notifies once when an alert begins to fire. */
export function useFiring({ current, alerts: [alerts], t, f }: View): readonly Firing[] {
  const firing = useMemo(() => firingOf(alerts, current), [alerts, current])
  const announced = useRef(new Map<string, Alert | undefined>())
  useEffect(() => {
    for (const alert of firing) {
      if (announced.current.get(alert.target) !== alerts[alert.target])
        notify(describe(alert, t, f), alert.target)
    }
    announced.current = new Map(firing.map(({ target }) => [target, alerts[target]]))
  }, [firing])
  return firing
}
