import type { Live } from './live/live.ts'
import { SummaryView } from './live/summary-view.tsx'
import { CoinTable } from './table/coin-table.tsx'
import { useView } from './view.ts'

/** The list of coins with its summary; while there is none, what to wait for. */
export function Overview({ list, error, isGathering }: Live) {
  const { t } = useView()
  return (
    <>
      <h1 class="unseen">{t.title}</h1>
      {isGathering ? (
        <p class="empty">{t.gathering}</p>
      ) : list ? (
        <>
          <SummaryView list={list} />
          <CoinTable list={list} />
        </>
      ) : (
        !error && <p class="empty">{t.loading}</p>
      )}
    </>
  )
}
