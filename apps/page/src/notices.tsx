import { describe, type Firing } from './alerts/alert.ts'
import { useView } from './view.ts'

/** What a reader must know before reading a number, and the alerts whose threshold is reached. */
export function Notices({ firing }: { firing: readonly Firing[] }) {
  const { t, f, isSimulated } = useView()
  return (
    <>
      {isSimulated && (
        <p class="notice simulated" role="note">
          {t.simulated}
        </p>
      )}
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

/** Says that something could not be loaded. */
export function Failure({ text }: { text: string }) {
  return (
    <p class="notice trouble" role="alert">
      {text}
    </p>
  )
}
