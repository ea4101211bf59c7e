import type { CoinPremium } from '@kimchi/client'
import { bankPremium } from '../bank/bank-rate.ts'
import { fill } from '../text/language.ts'
import { Amount, Change, Percent, Stale } from '../values.tsx'
import { useView } from '../view.ts'
import { AMOUNTS, type ChangeOf } from './rows.ts'

export interface CoinRowProps {
  readonly coin: CoinPremium
  /** The row is older than the list, whose own age stands above the table. */
  readonly isBehind: boolean
  readonly isFavourite: boolean
  readonly change: ReturnType<ChangeOf>
  readonly isBankOld: boolean
  readonly onFavourite: (symbol: string) => void
}

export function CoinRow(props: CoinRowProps) {
  const { coin, isBehind, isFavourite, change, isBankOld, onFavourite } = props
  const { t, nameOf, current, bank } = useView()
  const [rate] = bank
  const { symbol } = coin
  return (
    <tr class={current.includes(coin) ? '' : 'stale'} data-symbol={symbol}>
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
        {isBehind && <Stale at={coin.snapshot_at} />}
      </th>
      <td class="premium">
        <Percent value={coin.premium_pct} isColoured />
      </td>
      {rate && (
        <td class={isBankOld ? 'bank stale' : 'bank'} data-name={t.bankPremium}>
          <Percent value={bankPremium(coin, rate)} isColoured={!isBankOld} />
        </td>
      )}
      <td class="since">{change !== undefined && <Change points={change} />}</td>
      {AMOUNTS.map(column => (
        <td key={column} class={column} data-name={column === 'gap' ? t.gapName : undefined}>
          <Amount coin={coin} column={column} />
        </td>
      ))}
    </tr>
  )
}
