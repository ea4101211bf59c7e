import t from 'tap'
import { keep, recall } from '../src/storage.ts'

t.test('gives back what was kept, and nothing for an unreadable value', async t => {
  const kept = new Map<string, string>([['kimchi.live', '{broken']])
  t.intercept(globalThis, 'localStorage', {
    value: {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => kept.set(key, value),
    },
  })
  keep('favourites', ['BTC'])
  t.strictSame(recall('favourites'), ['BTC'])
  t.equal(recall('live'), undefined)
  t.equal(recall('bank'), undefined)
})

t.test('a browser that forbids storage, or has no room, breaks nothing', async t => {
  t.intercept(globalThis, 'localStorage', {
    get: () => {
      throw new Error('denied')
    },
  })
  keep('bank', { krw: 1_380 })
  t.strictSame(recall('bank'), { krw: 1_380 }, 'kept as long as the page is open')
  t.equal(recall('live'), undefined)
})
