import type { Client } from '@kimchi/client'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useAlerts, useFiring } from './alerts/use-alerts.ts'
import { LazyCoin } from './coin/lazy-coin.tsx'
import { Footer, Header } from './frame.tsx'
import { useLive } from './live/live.ts'
import { Notices } from './notices.tsx'
import { Overview } from './overview.tsx'
import { useRoute } from './route.ts'
import { type Shelf, useKept } from './storage.ts'
import { EVERYTHING } from './table/coin-table.tsx'
import { createFormats } from './text/format.ts'
import { type Language, loadWords, type Words } from './text/language.ts'
import { titleOf } from './title.ts'
import { type Theme, useNow, type View, ViewContext } from './view.ts'

/** The whole page. @param words those of the visitor's language */
export function App({ client, shelf, words }: { client: Client; shelf: Shelf; words: Words }) {
  const [{ language, t, names }, setWords] = useState(words)
  const setLanguage = async (next: Language) => {
    shelf.put('language', next)
    setWords(await loadWords(next))
  }
  const [theme, setTheme] = useKept<Theme>(shelf, 'theme', 'auto')
  const alerts = useAlerts(shelf)
  const live = useLive(client, shelf, Object.keys(alerts.all).length > 0)
  const { list, error } = live
  // Kept here, so that it survives a visit to a coin.
  const [listing, onListing] = useState(EVERYTHING)
  const route = useRoute()
  const { symbol } = route
  const f = useMemo(() => createFormats(language), [language])
  const nameOf: View['nameOf'] = ({ symbol, name }) => names[symbol] ?? name
  const now = useNow(live.clockOffsetMs)
  const isSimulated = list?.note?.startsWith('SIMULATED') ?? false
  const view: View = { client, shelf, alerts, theme, language, t, f, nameOf, isSimulated, now }
  const firing = useFiring(alerts.all, list, view)
  const title = titleOf(list, symbol, firing, t, f)
  useEffect(() => {
    document.documentElement.lang = language
    document.documentElement.dataset.theme = theme
    document.title = title
  }, [language, theme, title])
  const main = useFocusOnMove(symbol)
  return (
    <ViewContext.Provider value={view}>
      <Header onTheme={setTheme} onLanguage={setLanguage} />
      <main ref={main} tabIndex={-1}>
        <Notices {...live} firing={firing} />
        {symbol !== undefined ? (
          <LazyCoin
            key={symbol}
            symbol={symbol}
            range={route.range}
            row={list?.data.find(coin => coin.symbol === symbol)}
            minute={error ? undefined : list?.updated_at}
          />
        ) : route.isUnknown ? (
          <div class="empty">
            <h1>{t.noPage}</h1>
            <a href="#/">{t.back}</a>
          </div>
        ) : (
          <Overview {...{ live, listing, onListing }} />
        )}
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
    if (before.current === symbol) return
    const left = before.current
    before.current = symbol
    const link =
      symbol === undefined ? main.current?.querySelector<HTMLElement>(`[data-symbol="${left}"] a`) : undefined
    if (link) link.focus()
    else {
      scrollTo(0, 0)
      main.current?.focus({ preventScroll: true })
    }
  }, [symbol])
  return main
}
