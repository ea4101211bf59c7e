import { EventEmitter } from 'node:events'
import t from 'tap'
import { grown, grownOverDays, heldBy, heldBytes } from '../src/resources.ts'

t.test('sockets, connections, waits and their listeners are counted', async t => {
  const { signal } = new AbortController()
  signal.addEventListener('abort', () => {})
  const link = new EventEmitter().on('close', () => {}).on('close', () => {})
  const waits = new Map([signal, signal, undefined].map((signal, number) => [number, { signal }]))
  const held = heldBy(4, new Set([link]), [{ waits }])
  t.strictSame(held, { sockets: 4, links: 1, waits: 3, listeners: 3 })
})

// docs/faults.md, 35
t.test('what grows by more than a tenth from the ninth of fourteen days to the last is named', async t => {
  const days = (...bytes: number[]) => bytes.map(each => ({ bytes: each }))
  const first = [10, 50, 60, 70, 80, 90, 95, 100]
  t.strictSame(grownOverDays(days(...first, 100, 101, 102, 103, 104, 110)), [])
  t.strictSame(grownOverDays(days(...first, 100, 101, 102, 103, 104, 111)), [
    'bytes have grown from 100 to 111',
  ])
  const week = [10, 50, 60, 70, 100, 100]
  t.strictSame(
    grownOverDays(days(...week, 111)),
    ['bytes have grown from 100 to 111'],
    'of a week, from the fifth',
  )
  t.strictSame(grownOverDays(days(...week)), [], 'in less than a week, nothing')
})

t.test('a few more waits and listeners may be under way, but no more sockets', async t => {
  t.strictSame(grown({ sockets: 4, waits: 20, listeners: 9 }, { sockets: 4, waits: 26, listeners: 15 }), [])
  t.strictSame(grown({ sockets: 4, waits: 20, listeners: 9 }, { sockets: 5, waits: 27, listeners: 16 }), [
    'sockets have grown from 4 to 5',
    'waits have grown from 20 to 27',
    'listeners have grown from 9 to 16',
  ])
  t.strictSame(
    grown({}, { links: 0, waits: 1 }),
    ['waits have grown from 0 to 1'],
    'nothing when all is closed',
  )
})

t.test('what nobody holds takes no bytes', async t => {
  const before = await heldBytes()
  let held: object | undefined = Array.from({ length: 100_000 }, (_, index) => ({ index }))
  t.ok((await heldBytes()) > before + 2e6)
  held = undefined
  t.notOk(held)
  t.ok((await heldBytes()) < before + 1e6)
})
