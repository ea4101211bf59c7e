import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useView } from '../view.ts'
import type { CoinProps } from './coin-view.tsx'

/** A coin's view, loaded with its chart when a coin is opened for the first time. */
export function LazyCoin(props: CoinProps) {
  const { t } = useView()
  const [view, setView] = useState<{ readonly Coin?: ComponentType<CoinProps> }>()
  const load = () => {
    setView(undefined)
    import('./coin-view.tsx').then(
      ({ CoinView }) => setView({ Coin: CoinView }),
      () => setView({}),
    )
  }
  useEffect(load, [])
  if (!view) return <p class="empty">{t.loading}</p>
  if (view.Coin) return <view.Coin {...props} />
  return (
    <p class="empty" role="alert">
      {t.historyDown}{' '}
      <button type="button" onClick={load}>
        {t.retry}
      </button>
    </p>
  )
}
