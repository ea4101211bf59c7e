import { ApiError, type LiveList, type LiveUpdate, type WatchOptions } from '@kimchi/client'
import t from 'tap'
import { openLive } from '../../src/live/live.ts'
import { Shelf } from '../../src/storage.ts'

const list = (updated_at: string, count = 0): LiveList => ({
  result: 'ok',
  updated_at,
  count,
  note: '',
  data: [],
})
const update = (updated_at: string): LiveUpdate => ({
  list: list(updated_at),
  error: undefined,
  clockOffsetMs: 0,
  nextInMs: 60_000,
})

/** A page that can be hidden and shown, and a client with scripted responses. */
function openPage(kept: Record<string, string> = {}, runsHidden = false) {
  const storage = new Map(Object.entries(kept))
  const watches: { tell: (update: LiveUpdate) => void; options: WatchOptions | undefined }[] = []
  let listener = () => {}
  let pending: (() => void) | undefined
  let visibilityState: 'visible' | 'hidden' = 'visible'
  const live = openLive({
    client: {
      watch: async (tell, options) => {
        watches.push({ tell, options })
      },
    },
    shelf: new Shelf(() => ({
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
    runsHidden: () => runsHidden,
    setTimeout: run => {
      pending = run
    },
    onChange: () => {},
  })
  const look = (state: typeof visibilityState) => {
    visibilityState = state
    listener()
  }
  /** Runs the pending timer. Gives whether there was one. */
  const passTime = () => {
    const run = pending
    pending = undefined
    run?.()
    return run !== undefined
  }
  return { live, watches, storage, look, passTime }
}

t.test(
  'watches while the page is visible, and continues from the last list when it is visible again',
  async t => {
    const { live, watches, look } = openPage({ 'kimchi.live': JSON.stringify(list('2026-11-21T13:04:00')) })
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
  },
)

t.test('begins with the list of an earlier visit, and keeps only good answers', async t => {
  const kept = list('2026-11-21T13:00:00')
  const { live, watches, storage } = openPage({ 'kimchi.live': JSON.stringify(kept) })
  t.strictSame(live.now().list, kept)
  watches[0]?.tell(update('2026-11-21T13:05:00'))
  const error = new Error('down') as never
  watches[0]?.tell({ ...update('2026-11-21T13:05:00'), error })
  t.equal(live.now().error, error)
  t.strictSame(JSON.parse(storage.get('kimchi.live') ?? ''), list('2026-11-21T13:05:00'))
})

t.test('goes on while hidden when an alert is set', async t => {
  const { live, watches, look } = openPage(
    { 'kimchi.live': JSON.stringify(list('2026-11-21T13:04:00')) },
    true,
  )
  look('hidden')
  t.equal(watches.length, 1)
  t.equal(watches[0]?.options?.signal?.aborted, false)
  live.close()
})

t.test('shows no incomplete list of a service that has just started', async t => {
  const { live, watches, passTime } = openPage()
  const minute = '2026-11-21T13:05:00'
  const error = new ApiError('not ready', { code: 'not_ready', status: 503 })
  watches[0]?.tell({ ...update(minute), list: undefined, error })
  t.equal(live.now().isGathering, true)
  watches[0]?.tell({ ...update(minute), list: list(minute, 4) })
  t.equal(live.now().isGathering, true, 'the first list may lack coins')
  passTime()
  watches[1]?.tell({ ...update(minute), list: list(minute, 10) })
  t.equal(live.now().isGathering, true, 'it has grown')
  passTime()
  watches[2]?.tell({ ...update(minute), list: list(minute, 10) })
  t.equal(live.now().isGathering, false)
  t.equal(passTime(), false, 'and then follows the minutes')
  t.equal(watches.length, 3)
  live.close()
})
