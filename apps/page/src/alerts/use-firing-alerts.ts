import { useEffect, useMemo } from 'preact/hooks'
import { keep, recall } from '../storage.ts'
import type { View } from '../view.ts'
import { describe, type Firing, firingOf, keyOf, type Told, toldAfter } from './alert.ts'
import { notify } from './notify.ts'

/** The alerts that fire now. Notifies of each once, whichever tab is the first to see it. */
export function useFiringAlerts({ current, alerts: [alerts], t, f }: View): readonly Firing[] {
  const firing = useMemo(() => firingOf(alerts, current), [alerts, current])
  useEffect(() => {
    const told = recall<Told>('told') ?? {}
    for (const alert of firing) {
      if (told[keyOf(alert)] !== alert.threshold) notify(describe(alert, t, f), keyOf(alert))
    }
    keep('told', toldAfter(told, alerts, current))
  }, [firing])
  return firing
}
