import { type CoinPremium, utcMs } from '@kimchi/client'
import { fill } from '../text/language.ts'
import { directionOf, Percent } from '../values.tsx'
import { useView } from '../view.ts'
import { COLUMNS } from './rows.ts'

/** What a row is drawn from. */
export interface CoinRowProps {
  readonly coin: CoinPremium
  /** The row is older than the list. */
  readonly isStale: boolean
  readonly isFavourite: boolean
  /** The premium relative to the largest one in the list, from −1 to 1. */
  readonly share: number
  readonly onFavourite: (symbol: string) => void
}

/** One coin of the list. */
export function CoinRow({ coin, isStale, isFavourite, share, onFavourite }: CoinRowProps) {
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
          <span class="why" title={f.utc(at, now)}>
            {fill(t.stale, f.time(at, now))}
          </span>
        )}
      </th>
      <td class="premium">
        <span>
          <Bar share={share} />
          <Percent value={coin.premium_pct} isColoured />
        </span>
      </td>
      <td class="gap">
        <data value={COLUMNS.gap(coin)}>{f.won(COLUMNS.gap(coin), true)}</data>
      </td>
      <td class="krw">
        <data value={coin.upbit_krw}>{f.price(coin.upbit_krw)}</data>
      </td>
      <td class="binance">
        <data value={COLUMNS.binance(coin)}>{f.won(COLUMNS.binance(coin))}</data>
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

/** The premium as a bar to the right or left of zero. */
function Bar({ share }: { share: number }) {
  const width = 30 * Math.abs(share)
  return (
    <svg class={`bar ${directionOf(share)}`} viewBox="0 0 60 3" aria-hidden="true" preserveAspectRatio="none">
      <rect class="track" x="0" y="1" width="60" height="1" />
      <rect x={share < 0 ? 30 - width : 30} y="0" width={width} height="3" />
    </svg>
  )
}
