import type { Live } from './live/live.ts'
import { SummaryView } from './live/summary-view.tsx'
import { CoinTable } from './table/coin-table.tsx'
import { useView } from './view.ts'

/** The list of coins with its summary; while there is none, what to wait for. */
export function Overview({ list, error }: Live) {
  const { t } = useView()
  return (
    <>
      <h1 class="unseen">{t.title}</h1>
      {list ? (
        <>
          {list.count > 0 && <SummaryView />}
          <CoinTable list={list} />
        </>
      ) : error?.code === 'not_ready' ? (
        <p class="empty">
          {t.notReady} {t.retrying}
        </p>
      ) : (
        !error && <p class="empty">{t.loading}</p>
      )}
    </>
  )
}
