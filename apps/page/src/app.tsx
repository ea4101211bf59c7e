import { type Client, utcMs } from '@kimchi/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Alerts } from './alerts/alert.ts'
import { useFiringAlerts } from './alerts/use-firing-alerts.ts'
import type { BankRate } from './bank/bank-rate.ts'
import { LazyCoin } from './coin/lazy-coin.tsx'
import { Footer } from './footer.tsx'
import { Header } from './header.tsx'
import { useCurrentRows } from './live/current-rows.ts'
import { useLive } from './live/live.ts'
import { Notices } from './notices.tsx'
import { Overview } from './overview.tsx'
import { routeOf } from './route.ts'
import { StatusBar } from './status-bar.tsx'
import { keep, useKept } from './storage.ts'
import type { Language } from './text/format.ts'
import { fill, loadWords, type Words } from './text/language.ts'
import { titleOf } from './title.ts'
import { useObserved } from './use-observed.ts'
import { ViewContext } from './view.ts'

/** The whole page. @param words those of the visitor's language */
export function App({ client, words: first }: { client: Client; words: Words }) {
  const [words, setWords] = useState(first)
  const { language, t, f } = words
  const setLanguage = async (next: Language) => {
    keep('language', next)
    setWords(await loadWords(next))
  }
  const alerts = useKept<Alerts>('bands', {})
  const bank = useKept<BankRate | undefined>('bank', undefined)
  const isVisible = useObserved(document, 'visibilitychange', () => document.visibilityState === 'visible')
  const live = useLive(client)
  const { list, error, isAnswered } = live
  // Here, so that the text survives a visit to a coin.
  const search = useState('')
  const { symbol, range } = routeOf(useObserved(window, 'hashchange', () => location.hash))
  const now = () => Date.now() + live.clockOffsetMs
  const timeOf = (at: string) => f.time(utcMs(at), now())
  const ago = (ms: number) => fill(t.ago, f.age(ms))
  const current = useCurrentRows(list, now)
  const isSimulated = list?.note?.startsWith('SIMULATED') ?? false
  const minute = isVisible && isAnswered && !error ? list?.updated_at : undefined
  const isFailing = error !== undefined && error.code !== 'not_ready'
  const waiting = isFailing ? undefined : error ? `${t.notReady} ${t.retrying}` : t.loading
  const kept = { alerts, bank, search }
  const view = { ...words, ...kept, client, isSimulated, current, minute, waiting, now, timeOf, ago }
  const firing = useFiringAlerts(view)
  const title = titleOf(current, symbol, firing, t, f)
  useEffect(() => {
    document.documentElement.lang = language
    document.title = title
  }, [language, title])
  const main = useFocusOnMove(symbol)
  return (
    <ViewContext.Provider value={view}>
      <Header onLanguage={setLanguage} />
      <main ref={main} tabIndex={-1}>
        <Notices firing={firing} />
        {symbol !== undefined ? (
          <LazyCoin
            key={symbol}
            symbol={symbol}
            range={range}
            row={list?.data.find(coin => coin.symbol === symbol)}
          />
        ) : (
          <Overview {...live} />
        )}
        <StatusBar {...live} />
      </main>
      <Footer />
    </ViewContext.Provider>
  )
}

/** Moves the focus when a coin is opened or closed, as a browser does for a new page. */
function useFocusOnMove(symbol: string | undefined) {
  const main = useRef<HTMLElement>(null)
  const before = useRef(symbol)
  useEffect(() => {
    const left = before.current
    if (left === symbol) return
    before.current = symbol
    const rowLink =
      symbol === undefined && main.current?.querySelector<HTMLElement>(`[data-symbol="${left}"] a`)
    if (rowLink) return rowLink.focus()
    scrollTo(0, 0)
    main.current?.focus({ preventScroll: true })
  }, [symbol])
  return main
}
