import { type CoinPremium, type LiveList, utcMs } from '@kimchi/client'
import { useState } from 'preact/hooks'
import { directionOf, Percent } from '../percent.tsx'
import { fill } from '../text/language.ts'
import { useView } from '../view.ts'
import { arrange, type Column, nextSorting, type Sorting } from './rows.ts'

/** The coins of the list: searched, sorted, and marked as favourites. */
export function CoinTable({
  list,
  favourites,
  onFavourite,
}: {
  list: LiveList
  favourites: ReadonlySet<string>
  onFavourite: (symbol: string) => void
}) {
  const { t } = useView()
  const [sorting, setSorting] = useState<Sorting>({ column: 'premium_pct', isAscending: false })
  const [text, setText] = useState('')
  const [isOnly, setOnly] = useState(false)
  const rows = arrange(list.data, sorting, { text, only: isOnly ? favourites : undefined })
  const largest = Math.max(...list.data.map(coin => Math.abs(coin.premium_pct)), Number.MIN_VALUE)
  return (
    <section aria-label={t.coins} id="coins" tabIndex={-1}>
      <div class="tools">
        <input
          type="search"
          aria-label={t.search}
          placeholder={t.search}
          value={text}
          onInput={event => setText(event.currentTarget.value)}
        />
        <button type="button" aria-pressed={isOnly} onClick={() => setOnly(!isOnly)}>
          <span aria-hidden="true">★</span> {t.favouritesOnly}
        </button>
      </div>
      <table class="coins">
        <Head sorting={sorting} onSort={column => setSorting(nextSorting(sorting, column))} />
        <tbody>
          {rows.map(coin => (
            <Row
              key={coin.symbol}
              coin={coin}
              isStale={coin.snapshot_at < list.updated_at}
              isFavourite={favourites.has(coin.symbol)}
              share={coin.premium_pct / largest}
              onFavourite={onFavourite}
            />
          ))}
        </tbody>
      </table>
      {rows.length === 0 && (
        <p class="empty">{isOnly && favourites.size === 0 ? t.noFavourites : t.noMatch}</p>
      )}
    </section>
  )
}

function Head({ sorting, onSort }: { sorting: Sorting; onSort: (column: Column) => void }) {
  const { t } = useView()
  const columns: [Column, string, string][] = [
    ['symbol', t.coin, 'coin'],
    ['premium_pct', t.premium, 'premium'],
    ['upbit_krw', t.krw, 'krw'],
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
              <button type="button" onClick={() => onSort(column)}>
                {name}
                {isSorted && <span aria-hidden="true">{sorting.isAscending ? '↑' : '↓'}</span>}
              </button>
            </th>
          )
        })}
      </tr>
    </thead>
  )
}

interface RowProps {
  coin: CoinPremium
  isStale: boolean
  isFavourite: boolean
  share: number
  onFavourite: (symbol: string) => void
}

function Row({ coin, isStale, isFavourite, share, onFavourite }: RowProps) {
  const { t, f, now } = useView()
  const { symbol } = coin
  const at = utcMs(coin.snapshot_at)
  return (
    <tr class={isStale ? 'stale' : ''} data-symbol={symbol}>
      <td class="star">
        <button
          type="button"
          aria-pressed={isFavourite}
          aria-label={fill(t.favourite, symbol)}
          onClick={() => onFavourite(symbol)}
        >
          <span aria-hidden="true">{isFavourite ? '★' : '☆'}</span>
        </button>
      </td>
      <th scope="row" class="coin">
        <a href={`#/${symbol}`}>
          <strong>{symbol}</strong> <span class="name">{coin.name}</span>
        </a>
        {isStale && <span class="why">{fill(t.stale, f.time(at, now))}</span>}
      </th>
      <td class="premium">
        <span>
          <Bar share={share} />
          <Percent value={coin.premium_pct} arrow />
        </span>
      </td>
      <td class="krw">
        <data value={coin.upbit_krw}>{f.price(coin.upbit_krw)}</data>
      </td>
      <td class="usdt">
        <data value={coin.binance_usdt}>{f.price(coin.binance_usdt)}</data>
      </td>
      <td class="rate">
        <data value={coin.usdt_krw}>{f.price(coin.usdt_krw)}</data>
      </td>
      <td class="age">
        <time dateTime={`${coin.snapshot_at}Z`}>{f.age(now - at)}</time>
      </td>
    </tr>
  )
}

/** The premium as a bar to the right or left of zero, from −1 to 1. */
function Bar({ share }: { share: number }) {
  const width = 30 * Math.abs(share)
  return (
    <svg class={`bar ${directionOf(share)}`} viewBox="0 0 60 3" aria-hidden="true" preserveAspectRatio="none">
      <rect class="track" x="0" y="1" width="60" height="1" />
      <rect x={share < 0 ? 30 - width : 30} y="0" width={width} height="3" />
    </svg>
  )
}
