import type { Client } from '@kimchi/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Shelf } from '../storage.ts'
import { type Live, openLive } from './live.ts'

/** The live list. It goes on being asked for while the page is hidden only when `runsHidden`. */
export function useLive(client: Client, shelf: Shelf, runsHidden: boolean): Live {
  const hidden = useRef(runsHidden)
  hidden.current = runsHidden
  const [live, setLive] = useState<Live>(() => ({
    list: shelf.get('live'),
    error: undefined,
    clockOffsetMs: 0,
    isGathering: false,
  }))
  useEffect(() => {
    const runsHidden = () => hidden.current
    const later = (run: () => void, ms: number) => {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    }
    const opened = openLive({ client, shelf, document, runsHidden, later, onChange: setLive })
    return opened.close
  }, [client, shelf])
  return live
}
