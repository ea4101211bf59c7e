import type { LiveList, LiveUpdate, WatchOptions } from '@kimchi/client'
import t from 'tap'
import { openLive } from '../../src/live/live.ts'
import { createShelf } from '../../src/storage.ts'

const list = (updated_at: string): LiveList => ({ result: 'ok', updated_at, count: 0, note: '', data: [] })
const update = (updated_at: string): LiveUpdate => ({
  list: list(updated_at),
  error: undefined,
  clockOffsetMs: 0,
  nextInMs: 60_000,
})

/** A page that can be hidden and shown, and a client with scripted responses. */
function openPage(kept: Record<string, string> = {}) {
  const storage = new Map(Object.entries(kept))
  const watches: { tell: (update: LiveUpdate) => void; options: WatchOptions | undefined }[] = []
  let listener = () => {}
  let visibilityState: 'visible' | 'hidden' = 'visible'
  const live = openLive({
    client: {
      watch: async (tell, options) => {
        watches.push({ tell, options })
      },
    },
    shelf: createShelf(() => ({
      getItem: key => storage.get(key) ?? null,
      setItem: (key, value) => storage.set(key, value),
    })),
    document: {
      get visibilityState() {
        return visibilityState
      },
      addEventListener: (_type: string, listen: () => void) => {
        listener = listen
      },
      removeEventListener: () => {
        listener = () => {}
      },
    } as never,
    onChange: () => {},
  })
  const look = (state: typeof visibilityState) => {
    visibilityState = state
    listener()
  }
  return { live, watches, storage, look }
}

t.test('watches while it is seen: ends when hidden, begins once when seen again, where it was', async t => {
  const { live, watches, look } = openPage()
  t.equal(watches.length, 1)
  watches[0]?.tell(update('2026-11-21T13:05:00'))
  look('hidden')
  t.equal(watches[0]?.options?.signal?.aborted, true)
  look('hidden')
  t.equal(watches.length, 1)
  look('visible')
  look('visible')
  t.equal(watches.length, 2)
  t.match(watches[1]?.options, { last: list('2026-11-21T13:05:00'), onceMore: true })
  live.close()
  t.equal(watches[1]?.options?.signal?.aborted, true)
  look('visible')
  t.equal(watches.length, 2)
})

t.test('begins with what an earlier visit kept, and keeps only good answers', async t => {
  const kept = list('2026-11-21T13:00:00')
  const { live, watches, storage } = openPage({ 'kimchi.live': JSON.stringify(kept) })
  t.strictSame(live.now.list, kept)
  watches[0]?.tell(update('2026-11-21T13:05:00'))
  const error = new Error('down') as never
  watches[0]?.tell({ ...update('2026-11-21T13:05:00'), error })
  t.equal(live.now.error, error)
  t.strictSame(JSON.parse(storage.get('kimchi.live') ?? ''), list('2026-11-21T13:05:00'))
})
