import type { History } from '@kimchi/client'
import t from 'tap'
import { createCloses } from '../../src/table/yesterday-closes.ts'
import { historyOf } from '../answers.ts'

const MINUTE_MS = 60_000
const TODAY = '2026-11-21'
const HISTORY = historyOf('BTC', 'Bitcoin', `${TODAY}T13:05:00`, 2)
const YESTERDAY = HISTORY.data[0]?.close_pct

/** Closes whose requests are counted; `answer` may change meanwhile. */
function counted() {
  const state: { asked: string[]; answer: () => Promise<History> } = {
    asked: [],
    answer: async () => HISTORY,
  }
  const daily = async (symbol: string) => {
    state.asked.push(symbol)
    return state.answer()
  }
  const closes = createCloses({ daily })
  const ask = (today: string, now: number) => closes.ask('BTC', today, now, () => {})
  return { state, closes, ask }
}

t.test('a close is asked for again after an hour, and on the next day', async t => {
  const { state, closes, ask } = counted()
  await ask(TODAY, 0)
  await ask(TODAY, 59 * MINUTE_MS)
  t.equal(state.asked.length, 1)
  await ask(TODAY, 60 * MINUTE_MS)
  t.equal(state.asked.length, 2)
  await ask('2026-11-22', 61 * MINUTE_MS)
  t.equal(state.asked.length, 3)
  t.equal(closes.closeOf('BTC', '2026-11-22'), HISTORY.data[1]?.close_pct)
})

t.test('without an answer the close stays, and is asked for a minute later where there is none', async t => {
  const { state, closes, ask } = counted()
  state.answer = () => Promise.reject(new Error('no answer'))
  await ask(TODAY, 0)
  t.equal(closes.closeOf('BTC', TODAY), undefined)
  state.answer = async () => HISTORY
  await ask(TODAY, MINUTE_MS)
  t.equal(closes.closeOf('BTC', TODAY), YESTERDAY)
  state.answer = () => Promise.reject(new Error('no answer'))
  await ask(TODAY, 61 * MINUTE_MS)
  t.equal(closes.closeOf('BTC', TODAY), YESTERDAY)
})
