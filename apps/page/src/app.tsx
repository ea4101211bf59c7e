import type { Client } from '@kimchi/client'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Coin } from './coin/coin.tsx'
import { Footer } from './footer.tsx'
import { Header, type Theme } from './header.tsx'
import { type Live, openLive } from './live/live.ts'
import { SummaryView } from './live/summary-view.tsx'
import { Notices } from './notices.tsx'
import type { Shelf } from './storage.ts'
import { CoinTable } from './table/coin-table.tsx'
import { createFormats } from './text/format.ts'
import { dictionaries, pickLanguage } from './text/language.ts'
import { useKept, useNow, useRoute, ViewContext } from './view.ts'

/** The whole page. */
export function App({ client, shelf }: { client: Client; shelf: Shelf }) {
  const [language, setLanguage] = useKept(
    () => pickLanguage(shelf.get('language') ?? null, navigator.languages),
    next => shelf.put('language', next),
  )
  const [theme, setTheme] = useKept<Theme>(
    () => shelf.get('theme') ?? 'auto',
    next => shelf.put('theme', next),
  )
  const [favourites, setFavourites] = useKept(
    () => new Set(shelf.get<string[]>('favourites') ?? []),
    next => shelf.put('favourites', [...next]),
  )
  const live = useLive(client, shelf)
  const symbol = useRoute()
  const t = dictionaries[language]
  const f = useMemo(() => createFormats(language), [language])
  const now = useNow(live.clockOffsetMs)
  useDocument({ language, theme, title: symbol ? `${symbol} · ${t.title}` : t.title })
  const main = useFocusOnMove(symbol)
  const toggle = (coin: string) => {
    const next = new Set(favourites)
    if (!next.delete(coin)) next.add(coin)
    setFavourites(next)
  }
  const { list } = live
  return (
    <ViewContext.Provider value={{ language, t, f, now }}>
      <Header theme={theme} onTheme={setTheme} onLanguage={setLanguage} />
      <main ref={main} tabIndex={-1}>
        <Notices {...live} />
        {symbol ? (
          <Coin
            key={symbol}
            symbol={symbol}
            row={list?.data.find(coin => coin.symbol === symbol)}
            {...{ client, shelf, theme }}
          />
        ) : (
          <>
            <h1 class="unseen">{t.title}</h1>
            {list && <SummaryView list={list} />}
            {list && <CoinTable list={list} favourites={favourites} onFavourite={toggle} />}
            {!list && !live.error && <p class="empty">{t.loading}</p>}
          </>
        )}
      </main>
      <Footer />
    </ViewContext.Provider>
  )
}

function useLive(client: Client, shelf: Shelf): Live {
  const [live, setLive] = useState<Live>(() => ({
    list: shelf.get('live'),
    error: undefined,
    clockOffsetMs: 0,
  }))
  useEffect(() => {
    const opened = openLive({ client, shelf, document, onChange: setLive })
    return opened.close
  }, [client, shelf])
  return live
}

function useDocument({ language, theme, title }: { language: string; theme: Theme; title: string }) {
  useEffect(() => {
    document.documentElement.lang = language
    document.documentElement.dataset.theme = theme
    document.title = title
  }, [language, theme, title])
}

/** Moves the focus when a coin is opened or closed, as a browser does with a new page. */
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
