import { type LiveList, utcMs } from '@kimchi/client'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { isOverdue } from '../notices.tsx'
import { type Shelf, useKept } from '../storage.ts'
import type { View } from '../view.ts'
import { type Alert, type Alerts, type AlertsOnDevice, describe, type Firing, firingOf } from './alert.ts'
import { notify } from './notify.ts'

/** The alerts of this device. */
export function useAlerts(shelf: Shelf): AlertsOnDevice {
  const [all, setAll] = useKept<Alerts>(shelf, 'alerts', {})
  const set = (target: string, alert: Alert | undefined) => {
    const { [target]: _removed, ...others } = all
    setAll(alert ? { ...others, [target]: alert } : others)
  }
  return { all, set }
}

/** The alerts that fire now; an overdue list fires none. Notifies once when an alert begins to fire. */
export function useFiring(all: Alerts, list: LiveList | undefined, view: View): readonly Firing[] {
  const isOld = list === undefined || isOverdue(utcMs(list.updated_at), view.now)
  const firing = useMemo(() => (isOld ? [] : firingOf(all, list)), [all, list, isOld])
  const announced = useRef(new Map<string, Alert>())
  useEffect(() => {
    for (const alert of firing) {
      if (announced.current.get(alert.target) !== all[alert.target])
        notify(describe(alert, view.t, view.f), alert.target)
    }
    announced.current = new Map(firing.map(({ target }) => [target, all[target] as Alert]))
  }, [firing])
  return firing
}
