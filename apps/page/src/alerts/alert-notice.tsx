import { useView } from '../view.ts'
import type { Firing } from './alert.ts'
import { describe } from './words.ts'

/** The alerts whose threshold is reached now. */
export function AlertNotice({ firing }: { firing: readonly Firing[] }) {
  const view = useView()
  return (
    <div role="status">
      {firing.length > 0 && (
        <p class="notice firing">
          {view.t.alert}: {firing.map(alert => describe(alert, view)).join(' · ')}
        </p>
      )}
    </div>
  )
}
