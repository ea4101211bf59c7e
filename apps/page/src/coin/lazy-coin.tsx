import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Failure } from '../notices.tsx'
import { useView } from '../view.ts'
import type { CoinProps } from './coin-view.tsx'

/** A coin's view, loaded with its chart when a coin is opened for the first time. */
export function LazyCoin(props: CoinProps) {
  const { t } = useView()
  const [Coin, setCoin] = useState<ComponentType<CoinProps>>()
  const [hasFailed, setFailed] = useState(false)
  useEffect(() => {
    import('./coin-view.tsx').then(
      ({ CoinView }) => setCoin(() => CoinView),
      () => setFailed(true),
    )
  }, [])
  // A browser remembers a module that it could not load.
  if (hasFailed) return <Failure text={`${t.historyDown} ${t.reload}`} />
  return Coin ? <Coin {...props} /> : <p class="empty">{t.loading}</p>
}
