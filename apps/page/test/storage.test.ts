import t from 'tap'
import { Shelf } from '../src/storage.ts'

t.test('gives back what was put, and nothing for an unreadable value', async t => {
  const kept = new Map<string, string>([['kimchi.live', '{broken']])
  const shelf = new Shelf(() => ({
    getItem: key => kept.get(key) ?? null,
    setItem: (key, value) => kept.set(key, value),
  }))
  shelf.put('favourites', ['BTC'])
  t.strictSame(shelf.get('favourites'), ['BTC'])
  t.equal(shelf.get('live'), undefined)
  t.equal(shelf.get('theme'), undefined)
})

t.test('a browser that forbids storage, or has no room, breaks nothing', async t => {
  const shelf = new Shelf(() => {
    throw new Error('denied')
  })
  shelf.put('theme', 'dark')
  t.equal(shelf.get('theme'), undefined)
})
