import { MEDIAN } from './alerts/alert.ts'
import { AlertButton } from './alerts/alert-button.tsx'
import type { AlertsOnDevice } from './alerts/use-alerts.ts'
import type { Live } from './live/live.ts'
import { SummaryView } from './live/summary-view.tsx'
import { CoinTable, type CoinTableProps } from './table/coin-table.tsx'
import { useView } from './view.ts'

/** What the list is drawn from. */
export interface OverviewProps extends Pick<CoinTableProps, 'shelf' | 'listing' | 'onListing'> {
  readonly live: Live
  readonly alerts: AlertsOnDevice
}

/** The list of coins with its summary; what to wait for while there is none. */
export function Overview({ live, alerts, ...table }: OverviewProps) {
  const { t } = useView()
  const { list, error, isGathering } = live
  return (
    <>
      <h1 class="unseen">{t.title}</h1>
      {isGathering && <p class="empty">{t.gathering}</p>}
      {list && !isGathering && <SummaryView list={list} />}
      {list && !isGathering && (
        <CoinTable list={list} {...table}>
          <AlertButton target={MEDIAN} alerts={alerts} />
        </CoinTable>
      )}
      {!list && !error && !isGathering && <p class="empty">{t.loading}</p>}
    </>
  )
}
