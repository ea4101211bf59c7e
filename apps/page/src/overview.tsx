import type { Live } from './live/live.ts'
import { SummaryView } from './live/summary-view.tsx'
import { CoinTable } from './table/coin-table.tsx'
import { useView } from './view.ts'

/** The list of coins with its summary; while there is none, what to wait for. */
export function Overview({ list }: Live) {
  const { t, waiting } = useView()
  return (
    <>
      <h1 class="unseen">{t.title}</h1>
      {list ? (
        <>
          {list.count > 0 && <SummaryView />}
          <CoinTable list={list} />
        </>
      ) : (
        waiting && <p class="empty">{waiting}</p>
      )}
    </>
  )
}
