import { type CoinPremium, utcMs } from '@kimchi/client'
import { fill } from '../text/language.ts'
import { Amount, Change, Percent } from '../values.tsx'
import { useView } from '../view.ts'
import { AMOUNTS } from './rows.ts'

export interface CoinRowProps {
  readonly coin: CoinPremium
  /** The row is older than the list. */
  readonly isStale: boolean
  readonly isFavourite: boolean
  /** Points since yesterday's close; undefined while that is not known. */
  readonly change: number | undefined
  readonly onFavourite: (symbol: string) => void
}

export function CoinRow({ coin, isStale, isFavourite, change, onFavourite }: CoinRowProps) {
  const { t, f, now, nameOf } = useView()
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
          <strong>{symbol}</strong> <span class="name">{nameOf(coin)}</span>
        </a>
        {isStale && (
          <span class="why" title={f.utc(at, now())}>
            {fill(t.stale, f.time(at, now()))}
          </span>
        )}
      </th>
      <td class="premium">
        <Percent value={coin.premium_pct} isColoured />
      </td>
      <td class="since">{change !== undefined && <Change points={change} />}</td>
      {AMOUNTS.map(column => (
        <td key={column} class={column}>
          <Amount coin={coin} column={column} />
        </td>
      ))}
    </tr>
  )
}
