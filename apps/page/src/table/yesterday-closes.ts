import type { Client, LiveList } from '@kimchi/client'
import type { RefObject } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { changeSince, dayBefore } from '../coin/days.ts'
import { useView } from '../view.ts'

/** What the list may ask of the daily route. */
const REQUESTS_PER_MINUTE = 20
const MINUTE_MS = 60_000
/** Candles may still complete yesterday, so a close is asked for again; mostly the answer is 304. */
const KEEP_MS = 60 * MINUTE_MS

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
   * Asks for those of these coins that are missing or an hour old. Resolves when all are answered, with whether
   * there were any.
   */
  async ask(symbols: readonly string[], today: string, now: number): Promise<boolean> {
    const recent = [...this.#known.values()].filter(({ askedAt }) => now - askedAt < MINUTE_MS)
    const due = symbols.filter(symbol => {
      const known = this.#known.get(symbol)
      return known?.day !== today || now - known.askedAt >= (known.close === undefined ? MINUTE_MS : KEEP_MS)
    })
    const asked = due.slice(0, REQUESTS_PER_MINUTE - recent.length)
    await Promise.all(asked.map(symbol => this.#load(symbol, today, now)))
    return asked.length > 0
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
 */
export function useChanges(list: LiveList, body: RefObject<HTMLElement | null>) {
  const { client, minute } = useView()
  const [closes] = useState(() => new YesterdayCloses(client))
  const [, redraw] = useState({})
  const today = list.updated_at.slice(0, 10)
  // After each drawing, because it may have brought other coins on screen.
  useEffect(() => {
    const ask = async () => {
      if (minute === undefined) return
      if (await closes.ask(symbolsOnScreen(body.current), today, Date.now())) redraw({})
    }
    void ask()
    addEventListener('scrollend', ask)
    return () => removeEventListener('scrollend', ask)
  })
  return (symbol: string, premium: number) => changeSince(closes.of(symbol, today), premium)
}

function symbolsOnScreen(body: HTMLElement | null): string[] {
  return [...(body?.querySelectorAll<HTMLElement>('[data-symbol]') ?? [])]
    .filter(row => {
      const { top, bottom } = row.getBoundingClientRect()
      return bottom > 0 && top < innerHeight
    })
    .flatMap(row => row.dataset.symbol ?? [])
}
