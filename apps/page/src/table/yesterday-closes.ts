import type { Client, LiveList } from '@kimchi/client'
import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { changeSince, dayBefore } from '../coin/days.ts'
import { useView } from '../view.ts'
import type { ChangeOf } from './rows.ts'

const MINUTE_MS = 60_000
/** Candles may still complete yesterday, so a close is asked for again; mostly the answer is 304. */
const KEEP_MS = 60 * MINUTE_MS
/** Answers that come one after the other are drawn together, and a long scroll asks a few times on its way. */
const PAUSE_MS = 150

export class YesterdayCloses {
  readonly #daily: Client['daily']
  readonly #known = new Map<string, { day: string; askedAt: number; close: number | undefined }>()

  constructor({ daily }: Pick<Client, 'daily'>) {
    this.#daily = daily
  }

  /** The close in percent of the day before `today`, a UTC date; undefined while it is not known. */
  of(symbol: string, today: string): number | undefined {
    const known = this.#known.get(symbol)
    return known?.day === today ? known.close : undefined
  }

  /**
   * Asks for those of these coins that are missing or an hour old.
   * @param onAnswer called for each close that was not known
   */
  async ask(symbols: readonly string[], today: string, now: number, onAnswer: () => void): Promise<void> {
    const due = symbols.filter(symbol => {
      const known = this.#known.get(symbol)
      return known?.day !== today || now - known.askedAt >= (known.close === undefined ? MINUTE_MS : KEEP_MS)
    })
    await Promise.all(
      due.map(async symbol => {
        const before = this.of(symbol, today)
        await this.#load(symbol, today, now)
        if (this.of(symbol, today) !== before) onAnswer()
      }),
    )
  }

  async #load(symbol: string, day: string, askedAt: number): Promise<void> {
    const known = { day, askedAt, close: this.of(symbol, day) }
    this.#known.set(symbol, known)
    // Without an answer the close stays as it was, until it is due again.
    const history = await this.#daily(symbol, { days: 2 }).catch(() => undefined)
    known.close = history?.data.find(({ date }) => date === dayBefore(day))?.close_pct ?? known.close
  }
}

/**
 * The points between a coin's premium and yesterday's close, for the coins that are or were on screen.
 * @param body the rows on screen
 * @param isForAll whether those of all coins are needed, to sort by them
 */
export function useChanges(list: LiveList, body: RefObject<HTMLElement | null>, isForAll: boolean): ChangeOf {
  const { client, minute, current } = useView()
  const [closes] = useState(() => new YesterdayCloses(client))
  const [, redraw] = useState({})
  const today = list.updated_at.slice(0, 10)
  const redrawSoon = useLater(() => redraw({}))
  const ask = () => {
    if (minute === undefined) return
    const symbols = isForAll ? list.data.map(({ symbol }) => symbol) : symbolsOnScreen(body.current)
    void closes.ask(symbols, today, Date.now(), redrawSoon)
  }
  const askSoon = useLater(ask)
  // After each drawing, because it may have brought other coins on screen.
  useEffect(() => {
    ask()
    addEventListener('scroll', askSoon)
    return () => removeEventListener('scroll', askSoon)
  })
  return coin =>
    current.includes(coin) ? changeSince(closes.of(coin.symbol, today), coin.premium_pct) : undefined
}

/** Calls the newest of these functions a moment after the first of several calls. */
function useLater(run: () => void): () => void {
  const newest = useRef(run)
  newest.current = run
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  return () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      newest.current()
    }, PAUSE_MS)
  }
}

function symbolsOnScreen(body: HTMLElement | null): string[] {
  return [...(body?.querySelectorAll<HTMLElement>('[data-symbol]') ?? [])]
    .filter(row => {
      const { top, bottom } = row.getBoundingClientRect()
      return bottom > 0 && top < innerHeight
    })
    .flatMap(row => row.dataset.symbol ?? [])
}
