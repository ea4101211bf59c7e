import type { Client, CoinPremium } from '@kimchi/client'
import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import type { Alerts } from './alerts/alert.ts'
import type { BankRate } from './bank/bank-rate.ts'
import type { Kept } from './storage.ts'
import type { Words } from './text/language.ts'

/** What every part of the page is drawn with. */
export interface View extends Words {
  readonly client: Client
  readonly alerts: Kept<Alerts>
  readonly bank: Kept<BankRate | undefined>
  readonly search: Kept<string>
  readonly isSimulated: boolean
  /** The rows that may stand as the present. */
  readonly current: readonly CoinPremium[]
  /** The minute of the list; undefined while nobody looks or the API does not answer: nothing else is asked then. */
  readonly minute: string | undefined
  /** The text in place of numbers that are still loading; undefined while the foot of the page says why they fail. */
  readonly waiting: string | undefined
  /** Milliseconds since the epoch, by the server's clock. */
  readonly now: () => number
  /** A time of the API in the time zone of the language, with the date when it is another day. */
  readonly timeOf: (at: string) => string
  /** How long ago: `42 sec ago`. */
  readonly ago: (ms: number) => string
}

/** Given by the page to all that is drawn in it. */
export const ViewContext = createContext({} as View)

export const useView = (): View => useContext(ViewContext)

/** Ages begin in seconds; an update every five seconds is calm and close enough. */
const AGE_MS = 5_000

/** The value of a function of the time. The component is drawn again when it has changed. */
export function useNow<T>(read: () => T): T {
  const value = read()
  const [, redraw] = useState({})
  useEffect(() => {
    const timer = setInterval(() => read() !== value && redraw({}), AGE_MS)
    return () => clearInterval(timer)
  })
  return value
}
