import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createManualClock } from '@kimchi/core/testing'
import t, { type Test } from 'tap'
import type { WebSocket } from 'ws'
import { binanceProtocol } from '../../src/binance/protocol.ts'
import { createConnectionBudget } from '../../src/feed/connection-budget.ts'
import type { Protocol } from '../../src/feed/protocol.ts'
import { upbitProtocol } from '../../src/upbit/protocol.ts'
import { AT, watchFeed } from '../harness.ts'
import { miniTicker, refuseWith, scriptExchange, upbitTicker } from '../scripted-exchange.ts'

const STEP_MS = 1_000
/** A connection arrives at the server at most two steps after it was opened. */
const WINDOW_MS = 300_000 - 2 * STEP_MS

/** What the exchange does to each connection while it is ill. */
interface Illness {
  readonly upgrade?: (socket: Socket) => boolean
  readonly accepted?: (socket: WebSocket, frame: string | Buffer) => void
}

const ILLNESSES: Readonly<Record<string, Illness>> = {
  'accepts and closes': { accepted: socket => socket.close() },
  'sends one frame and closes': {
    accepted: (socket, frame) => {
      socket.send(frame)
      socket.close()
    },
  },
  'closes with 1008': { accepted: socket => socket.close(1008, 'Too many requests') },
  'refuses with 429': { upgrade: refuseWith('429 Too Many Requests') },
}

t.test('the 21st connection waits until the first is five minutes old', async t => {
  const clock = createManualClock(AT)
  const spend = createConnectionBudget({ clock, signal: new AbortController().signal })
  for (let spent = 0; spent < 20; spent++) await spend()
  let isSpent = false
  const waiting = spend().then(() => {
    isSpent = true
  })
  await clock.advance(299_999)
  t.notOk(isSpent)
  await clock.advance(1)
  await waiting
  t.ok(isSpent)
})

for (const [what, illness] of Object.entries(ILLNESSES)) {
  for (const protocolOf of [upbitProtocol, binanceProtocol]) {
    const { exchange } = protocolOf('ws://127.0.0.1')
    for (const [minutes, recoveryS] of [
      [2, 60],
      [10, 120],
    ] as const) {
      t.test(
        `${exchange} ${what} for ${minutes} minutes: at most 20 connections in 5, up again within ${recoveryS} s`,
        t => holdsBudget(t, protocolOf, illness, minutes, recoveryS),
      )
    }
  }
}

async function holdsBudget(
  t: Test,
  protocolOf: (url: string) => Protocol,
  illness: Illness,
  minutes: number,
  recoveryS: number,
): Promise<void> {
  const exchange = await scriptExchange(t)
  const { clock, feed } = watchFeed(t, { protocol: protocolOf(exchange.url) })
  const opened: number[] = []
  let isIll = true
  exchange.state.upgrade = socket => {
    opened.push(clock.now())
    return isIll && illness.upgrade?.(socket) === true
  }
  let seen = 0
  const step = async () => {
    await clock.advance(STEP_MS)
    await delay(1)
    for (; seen < exchange.peers.length; seen++) {
      const peer = exchange.peers[seen]
      if (isIll && peer !== undefined) illness.accepted?.(peer.socket, frameOf(feed.status().exchange))
    }
  }
  for (let passed = 0; passed < minutes * 60_000; passed += STEP_MS) await step()
  isIll = false
  const healedAt = clock.now()
  while (feed.status().state !== 'up' && clock.now() - healedAt < recoveryS * 1_000) {
    await step()
    for (const { socket } of exchange.peers) socket.send(frameOf(feed.status().exchange))
  }
  t.equal(feed.status().state, 'up', 'recovered by itself')
  t.ok(opened.length > 4, 'it kept trying')
  const worst = Math.max(
    ...opened.map(from => opened.filter(at => at >= from && at < from + WINDOW_MS).length),
  )
  t.ok(worst <= 20, `at most 20 connections in five minutes, got: ${worst}`)
}

function frameOf(exchange: string): string | Buffer {
  return exchange === 'upbit' ? upbitTicker('KRW-BTC', 5, AT) : miniTicker('BTCUSDT', '5', AT)
}
