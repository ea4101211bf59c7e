import type { LiveList } from '@kimchi/client'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { View } from '../view.ts'
import { type Alert, describe, type Firing, firingOf } from './alert.ts'
import { notify } from './notify.ts'

/**
 * The alerts that fire now. Notifies once when an alert begins to fire.
 * @param list undefined while it is not current
 */
export function useFiring(list: LiveList | undefined, { alerts: [alerts], t, f }: View): readonly Firing[] {
  const firing = useMemo(() => (list ? firingOf(alerts, list) : []), [alerts, list])
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
