import type { Client, LiveList } from '@kimchi/client'
import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { changeSince, dayBefore } from '../coin/days.ts'
import { useView } from '../view.ts'
import type { ChangeOf } from './rows.ts'

const MINUTE_MS = 60_000
/** Candles may still complete yesterday, so a close is asked for again; mostly the answer is 304. */
const KEEP_MS = 60 * MINUTE_MS
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
 * @param body the rows
 * @param isForAll whether those of all rows are needed, to sort by them
 */
export function useChanges(
  list: LiveList,
  body: RefObject<HTMLTableSectionElement | null>,
  isForAll: boolean,
): ChangeOf {
  const { client, minute, current } = useView()
  const [closes] = useState(() => createCloses(client))
  const today = list.updated_at.slice(0, 10)
  const [, redraw] = useState({})
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  // Draws once for several answers that come one after the other.
  const redrawSoon = () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      redraw({})
    }, PAUSE_MS)
  }
  // After each drawing, because it may have brought other coins.
  useEffect(() => {
    if (minute === undefined) return
    const ask = ({ dataset }: HTMLElement) =>
      void closes.ask(dataset.symbol ?? '', today, Date.now(), redrawSoon)
    const onScreen = new IntersectionObserver(rows => {
      for (const { isIntersecting, target } of rows) if (isIntersecting) ask(target as HTMLElement)
    })
    for (const row of body.current?.rows ?? []) isForAll ? ask(row) : onScreen.observe(row)
    return () => onScreen.disconnect()
  })
  return coin =>
    current.includes(coin) ? changeSince(closes.closeOf(coin.symbol, today), coin.premium_pct) : undefined
}
