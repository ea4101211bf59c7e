import type { LiveList } from '@kimchi/client'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Shelf } from '../storage.ts'
import { useKept, useView } from '../view.ts'
import { CoinRow } from './coin-row.tsx'
import { arrange, type Sorting } from './rows.ts'
import { TableHead } from './table-head.tsx'

/** What a visitor has typed and sorted by. */
export interface Listing {
  readonly text: string
  readonly sorting: Sorting
}

/** Everything, the largest premium first. */
export const EVERYTHING: Listing = { text: '', sorting: { column: 'premium_pct', isAscending: false } }

/** What the table is drawn from. */
export interface CoinTableProps {
  readonly list: LiveList
  readonly shelf: Shelf
  readonly listing: Listing
  readonly onListing: (listing: Listing) => void
  /** Further tools beside the search. */
  readonly children?: ComponentChildren
}

/** The coins of the list: searched, sorted, and marked as favourites. */
export function CoinTable({ list, shelf, listing, onListing, children }: CoinTableProps) {
  const { t, nameOf } = useView()
  const { text, sorting } = listing
  const [favourites, toggle] = useFavourites(shelf)
  const [isOnly, setOnly] = useKept(
    () => shelf.get<boolean>('favouritesOnly') ?? false,
    next => shelf.put('favouritesOnly', next),
  )
  const rows = arrange(list.data, sorting, { text, only: isOnly ? favourites : undefined, nameOf })
  const largest = Math.max(...list.data.map(coin => Math.abs(coin.premium_pct)), Number.MIN_VALUE)
  if (list.count === 0) return <p class="empty">{t.noCoins}</p>
  return (
    <section aria-label={t.coins} id="coins" tabIndex={-1}>
      <div class="tools">
        <input
          type="search"
          aria-label={t.search}
          placeholder={t.search}
          value={text}
          onInput={event => onListing({ sorting, text: event.currentTarget.value })}
        />
        <button type="button" aria-pressed={isOnly} onClick={() => setOnly(!isOnly)}>
          <span aria-hidden="true">★</span> {t.favouritesOnly}
        </button>
        {children}
      </div>
      <table class="coins">
        <TableHead sorting={sorting} onSort={next => onListing({ text, sorting: next })} />
        <tbody>
          {rows.map(coin => (
            <CoinRow
              key={coin.symbol}
              coin={coin}
              isStale={coin.snapshot_at < list.updated_at}
              isFavourite={favourites.has(coin.symbol)}
              share={coin.premium_pct / largest}
              onFavourite={toggle}
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

function useFavourites(shelf: Shelf): [ReadonlySet<string>, (symbol: string) => void] {
  const [favourites, setFavourites] = useState<ReadonlySet<string>>(
    () => new Set(shelf.get<string[]>('favourites') ?? []),
  )
  const toggle = (symbol: string) => {
    const next = new Set(favourites)
    if (!next.delete(symbol)) next.add(symbol)
    setFavourites(next)
    shelf.put('favourites', [...next])
  }
  return [favourites, toggle]
}
