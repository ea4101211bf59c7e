import type { CoinPremium, LiveList } from '@kimchi/client'
import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { MEDIAN } from '../alerts/alert.ts'
import { AlertForm } from '../alerts/alert-form.tsx'
import { useKept } from '../storage.ts'
import { useView } from '../view.ts'
import { CoinRow } from './coin-row.tsx'
import { arrange, COLUMNS, type Column, nextSorting, type Sorting } from './rows.ts'
import { useChanges } from './yesterday-closes.ts'

/** The coins of the list: searched, sorted, and marked as favourites. */
export function CoinTable({ list }: { list: LiveList }) {
  const { t, nameOf, search, current } = useView()
  const [text, setText] = search
  const [sorting, setSorting] = useKept<Sorting | undefined>('sorting', undefined)
  const [favourites, setFavourites] = useKept<readonly string[]>('favourites', [])
  const [isOnly, setOnly] = useKept('favouritesOnly', false)
  const [areFirst, setFirst] = useKept('favouritesFirst', false)
  const [isDiscount, setDiscount] = useKept('discountsOnly', false)
  const toggle = (symbol: string) => {
    const others = favourites.filter(one => one !== symbol)
    setFavourites(others.length < favourites.length ? others : [...favourites, symbol])
  }
  const isShown = ({ symbol, premium_pct }: CoinPremium) =>
    (!isOnly || favourites.includes(symbol)) && (!isDiscount || premium_pct < 0)
  const body = useRef<HTMLTableSectionElement>(null)
  const changeOf = useChanges(list, body, sorting?.column === 'since')
  const first = areFirst ? favourites : []
  const rows = arrange(list.data.filter(isShown), { text, sorting, first }, nameOf, changeOf)
  if (list.count === 0) return <p class="empty">{t.noCoins}</p>
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
          <span aria-hidden="true">★</span> <span class="words">{t.favouritesOnly}</span>
        </button>
        <button type="button" aria-pressed={isDiscount} onClick={() => setDiscount(!isDiscount)}>
          {t.discountsOnly}
        </button>
        <AlertForm target={MEDIAN} />
      </div>
      <table class="coins">
        <Head sorting={sorting} onSort={setSorting}>
          <button
            type="button"
            aria-pressed={areFirst}
            aria-label={t.favouritesFirst}
            title={t.favouritesFirst}
            onClick={() => setFirst(!areFirst)}
          >
            <span aria-hidden="true">★</span>
          </button>
        </Head>
        <tbody ref={body}>
          {rows.map(coin => (
            <CoinRow
              key={coin.symbol}
              coin={coin}
              isCurrent={current.includes(coin)}
              isBehind={coin.snapshot_at < list.updated_at}
              isFavourite={favourites.includes(coin.symbol)}
              change={changeOf(coin)}
              onFavourite={toggle}
            />
          ))}
        </tbody>
      </table>
      {rows.length === 0 && (
        <p class="empty">{isOnly && favourites.length === 0 ? t.noFavourites : t.noMatch}</p>
      )}
    </section>
  )
}

interface HeadProps {
  readonly sorting: Sorting | undefined
  readonly onSort: (sorting: Sorting) => void
  /** Above the stars. */
  readonly children: ComponentChildren
}

/** The headings: each is a button that sorts. */
function Head({ sorting, onSort, children }: HeadProps) {
  const { t } = useView()
  const direction = sorting?.isAscending ? 'ascending' : 'descending'
  return (
    <thead>
      <tr>
        <td class="star">{children}</td>
        {(Object.keys(COLUMNS) as Column[]).map(column => {
          const isSorted = sorting?.column === column
          return (
            <th key={column} scope="col" class={column} {...(isSorted && { 'aria-sort': direction })}>
              <button type="button" onClick={() => onSort(nextSorting(sorting, column))}>
                {t[column]}
                <span aria-hidden="true">{isSorted ? (sorting.isAscending ? '↑' : '↓') : '↕'}</span>
              </button>
            </th>
          )
        })}
      </tr>
    </thead>
  )
}
