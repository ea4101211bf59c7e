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

export function createCloses({ daily }: Pick<Client, 'daily'>) {
  const known = new Map<string, { day: string; askedAt: number; close: number | undefined }>()
  /** The close in percent of the day before `today`, a UTC date; undefined while it is not known. */
  const closeOf = (symbol: string, today: string) => {
    const last = known.get(symbol)
    return last?.day === today ? last.close : undefined
  }
  /**
   * Asks for a coin's close that is missing or an hour old.
   * @param onAnswer called when it has changed
   */
  const ask = async (symbol: string, today: string, now: number, onAnswer: () => void) => {
    const [last, before] = [known.get(symbol), closeOf(symbol, today)]
    const keepMs = before === undefined ? MINUTE_MS : KEEP_MS
    if (last?.day === today && now - last.askedAt < keepMs) return
    const asked = { day: today, askedAt: now, close: before }
    known.set(symbol, asked)
    // Without an answer the close stays as it was, until it is due again.
    const history = await daily(symbol, { days: 2 }).catch(() => undefined)
    asked.close = history?.data.find(({ date }) => date === dayBefore(today))?.close_pct ?? before
    if (asked.close !== before) onAnswer()
  }
  return { closeOf, ask }
}

/**
 * The points between a coin's premium and yesterday's close, for the coins that are or were on screen.
 * @param body the rows on screen
 * @param isForAll whether those of all coins are needed, to sort by them
 */
export function useChanges(list: LiveList, body: RefObject<HTMLElement | null>, isForAll: boolean): ChangeOf {
  const { client, minute, current } = useView()
  const [closes] = useState(() => createCloses(client))
  const [, redraw] = useState({})
  const today = list.updated_at.slice(0, 10)
  const redrawSoon = useLater(() => redraw({}))
  const ask = () => {
    if (minute === undefined) return
    const symbols = isForAll ? list.data.map(({ symbol }) => symbol) : symbolsOnScreen(body.current)
    for (const symbol of symbols) void closes.ask(symbol, today, Date.now(), redrawSoon)
  }
  const askSoon = useLater(ask)
  // After each drawing, because it may have brought other coins on screen.
  useEffect(() => {
    ask()
    addEventListener('scroll', askSoon)
    return () => removeEventListener('scroll', askSoon)
  })
  return coin =>
    current.includes(coin) ? changeSince(closes.closeOf(coin.symbol, today), coin.premium_pct) : undefined
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
