import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { View } from '../view.ts'
import { type Band, describe, type Firing, firingOf } from './alert.ts'
import { notify } from './notify.ts'

/** The alerts that fire now. Notifies once when an alert begins to fire, or comes to its other bound. */
export function useFiring({ current, alerts: [alerts], t, f }: View): readonly Firing[] {
  const firing = useMemo(() => firingOf(alerts, current), [alerts, current])
  const announced = useRef(new Map<string, Band | undefined>())
  useEffect(() => {
    const keyOf = ({ target, bound }: Firing) => `${target} ${bound}`
    for (const alert of firing) {
      if (announced.current.get(keyOf(alert)) !== alerts[alert.target])
        notify(describe(alert, t, f), alert.target)
    }
    announced.current = new Map(firing.map(alert => [keyOf(alert), alerts[alert.target]]))
  }, [firing])
  return firing
}
