import type { LiveList } from '@kimchi/client'
import { Fragment } from 'preact'
import { useRef } from 'preact/hooks'
import { MEDIAN } from '../alerts/alert.ts'
import { AlertForm } from '../alerts/alert-form.tsx'
import { isOld } from '../bank/bank-rate.ts'
import { useKept } from '../storage.ts'
import { useNow, useView } from '../view.ts'
import { CoinRow } from './coin-row.tsx'
import { arrange, COLUMNS, type Column, nextSorting, type Sorting } from './rows.ts'
import { useChanges } from './yesterday-closes.ts'

/** The coins of the list: searched, sorted, and marked as favourites. */
export function CoinTable({ list }: { list: LiveList }) {
  const { t, nameOf, search, bank } = useView()
  const [rate] = bank
  const isBankOld = useNow(() => rate !== undefined && isOld(rate, Date.now()))
  const [text, setText] = search
  const [sorting, setSorting] = useKept<Sorting | undefined>('sorting', undefined)
  const [favourites, setFavourites] = useKept<readonly string[]>('favourites', [])
  const [isOnly, setOnly] = useKept('favouritesOnly', false)
  const toggle = (symbol: string) => {
    const others = favourites.filter(one => one !== symbol)
    setFavourites(others.length < favourites.length ? others : [...favourites, symbol])
  }
  const body = useRef<HTMLTableSectionElement>(null)
  const changeOf = useChanges(list, body, sorting?.column === 'since')
  const rows = arrange(
    list.data.filter(({ symbol }) => !isOnly || favourites.includes(symbol)),
    { text, sorting },
    nameOf,
    changeOf,
  )
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
        <AlertForm target={MEDIAN} />
      </div>
      <table class="coins">
        <Head sorting={sorting} onSort={setSorting} />
        <tbody ref={body}>
          {rows.map(coin => (
            <CoinRow
              key={coin.symbol}
              coin={coin}
              isBehind={coin.snapshot_at < list.updated_at}
              isFavourite={favourites.includes(coin.symbol)}
              change={changeOf(coin)}
              isBankOld={isBankOld}
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
  readonly onSort: (sorting: Sorting | undefined) => void
}

/** The headings: each is a button that sorts. */
function Head({ sorting, onSort }: HeadProps) {
  const { t, f, bank } = useView()
  const [rate] = bank
  const direction = sorting?.isAscending ? 'ascending' : 'descending'
  return (
    <thead>
      <tr>
        <td class="star" />
        {(Object.keys(COLUMNS) as Column[]).map(column => {
          const isSorted = sorting?.column === column
          return (
            <Fragment key={column}>
              <th scope="col" class={column} {...(isSorted && { 'aria-sort': direction })}>
                <button type="button" onClick={() => onSort(nextSorting(sorting, column))}>
                  {t[column]}
                  <span aria-hidden="true">{isSorted ? (sorting.isAscending ? '↑' : '↓') : '↕'}</span>
                </button>
              </th>
              {rate && column === 'premium' && (
                <th scope="col" class="bank">
                  {t.bankPremium} <span class="note">{f.price(rate.krw)}</span>
                </th>
              )}
            </Fragment>
          )
        })}
      </tr>
    </thead>
  )
}
