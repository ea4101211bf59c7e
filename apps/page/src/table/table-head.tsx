import { useView } from '../view.ts'
import { type Column, nextSorting, type Sorting } from './rows.ts'

/** The headings: each is a button that sorts. */
export function TableHead({ sorting, onSort }: { sorting: Sorting; onSort: (sorting: Sorting) => void }) {
  const { t } = useView()
  const columns: [Column, string, string][] = [
    ['symbol', t.coin, 'coin'],
    ['premium_pct', t.premium, 'premium'],
    ['gap_krw', t.gap, 'gap'],
    ['upbit_krw', t.krw, 'krw'],
    ['binance_krw', t.binanceKrw, 'binance-krw'],
    ['binance_usdt', t.usdt, 'usdt'],
    ['usdt_krw', t.rateShort, 'rate'],
    ['snapshot_at', t.age, 'age'],
  ]
  return (
    <thead>
      <tr>
        <td class="star" />
        {columns.map(([column, name, place]) => {
          const isSorted = sorting.column === column
          const direction = sorting.isAscending ? 'ascending' : 'descending'
          return (
            <th key={column} scope="col" class={place} {...(isSorted && { 'aria-sort': direction })}>
              <button type="button" onClick={() => onSort(nextSorting(sorting, column))}>
                {name}
                <span aria-hidden="true">{isSorted ? (sorting.isAscending ? '↑' : '↓') : '↕'}</span>
              </button>
            </th>
          )
        })}
      </tr>
    </thead>
  )
}
