import { setImmediate as turn } from 'node:timers/promises'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import t, { type Test } from 'tap'
import { binanceProtocol } from '../../src/binance.ts'
import { upbitProtocol } from '../../src/upbit.ts'
import { AT, watchFeed } from '../harness.ts'
import { miniTicker, type Peer, refuseWith, scriptExchange, upbitTicker } from '../scripted-exchange.ts'

const STEP_MS = 1_000
const MINUTE_MS = 60_000

type Exchange = Awaited<ReturnType<typeof scriptExchange>>

/** What an ill exchange does to a handshake, or to a connection that it has accepted. */
interface Illness {
  readonly refuse?: NonNullable<Exchange['state']['upgrade']>
  readonly accept?: (peer: Peer, isUpbit: boolean) => void
}

const frame = (isUpbit: boolean, now: number) =>
  isUpbit ? upbitTicker('KRW-BTC', 5, now) : miniTicker('BTCUSDT', '5', now)

const ILLNESSES: Readonly<Record<string, Illness>> = {
  'accepts and closes': { accept: ({ socket }) => socket.close(1000) },
  'accepts and cuts': { accept: ({ socket }) => socket.terminate() },
  'answers one frame and closes': {
    accept: ({ socket }, isUpbit) => socket.send(frame(isUpbit, AT), () => socket.close(1000)),
  },
  'sends an error after the snapshot': {
    accept: ({ socket }, isUpbit) => {
      if (isUpbit) socket.send(upbitTicker('KRW-BTC', 5, AT, 'SNAPSHOT'))
      socket.send(JSON.stringify({ error: { name: 'INTERNAL', message: 'x', code: 0, msg: 'x' } }))
    },
  },
  'announces its end at once, again and again': {
    accept: ({ socket }, isUpbit) => {
      socket.send(frame(isUpbit, AT))
      socket.send('{"e":"serverShutdown","E":1795222584015}', () => {
        if (isUpbit) socket.close(1001)
      })
    },
  },
  'accepts and stays silent': { accept: () => {} },
  'does not answer the handshake': { refuse: () => true },
  'refuses with 429 and Retry-After': { refuse: refuseWith('429 Too Many Requests', 'Retry-After: 7\r\n') },
  'refuses with 418 and Retry-After': { refuse: refuseWith("418 I'm a teapot", 'Retry-After: 120\r\n') },
  'refuses with 503': { refuse: refuseWith('503 Service Unavailable') },
}

/** After these the feed may wait longer than after others: the exchange asks for it. */
const SHUT_OUT = /418|Retry-After/

for (const protocol of [upbitProtocol, binanceProtocol]) {
  const isUpbit = protocol === upbitProtocol
  const name = isUpbit ? 'upbit' : 'binance'

  /** A feed of an exchange that a test makes ill or well, and the times of its attempts. */
  const open = async (t: Test, random: () => number) => {
    const exchange = await scriptExchange(t)
    const clock = createManualClock(AT)
    const attempts: number[] = []
    let illness: Illness | undefined
    exchange.state.upgrade = (socket, attempt) => {
      attempts.push(clock.now())
      return illness?.refuse?.(socket, attempt) ?? false
    }
    const { feed } = watchFeed(t, { protocol, bases: exchange.url }, clock, random)
    let greeted = 0
    const step = async () => {
      for (; greeted < exchange.peers.length; greeted++) {
        const peer = exchange.peers[greeted]
        if (peer !== undefined) illness?.accept?.(peer, isUpbit)
      }
      for (const { socket } of illness ? [] : exchange.peers) {
        if (socket.readyState === 1) socket.send(frame(isUpbit, clock.now()))
      }
      await settle()
      await clock.advance(STEP_MS)
    }
    const pass = async (ms: number, isOver = () => false) => {
      const until = clock.now() + ms
      while (clock.now() < until && !isOver()) await step()
    }
    return { clock, feed, attempts, pass, setIllness: (next: Illness | undefined) => (illness = next) }
  }

  // docs/faults.md, 40
  t.test(`${name}: whatever the exchange does for ten minutes, at most 20 connections in five`, async t => {
    let worst = 0
    for (const [what, illness] of Object.entries(ILLNESSES)) {
      // With the shortest possible waits.
      const { attempts, pass, setIllness } = await open(t, () => 0)
      setIllness(illness)
      await pass(10 * MINUTE_MS)
      const most = mostWithin(attempts, 5 * MINUTE_MS)
      worst = Math.max(worst, most)
      t.ok(most <= 20, `${what}: ${attempts.length} connections in all, ${most} in five minutes`)
    }
    t.comment(`worst: ${worst} connections in five minutes`)
  })

  // docs/faults.md, 40
  t.test(`${name}: well again within 60 s after up to two minutes, within 120 s after more`, async t => {
    let worst = 0
    for (const [what, illness] of Object.entries(ILLNESSES)) {
      if (SHUT_OUT.test(what)) continue
      // With the longest possible waits, and with the shortest, which spend the budget first.
      for (const [illMs, limitMs, random] of [
        [20_000, 60_000, 0.999],
        [2 * MINUTE_MS, 60_000, 0.999],
        [2 * MINUTE_MS, 60_000, 0],
        [3.5 * MINUTE_MS, 120_000, 0],
        [6 * MINUTE_MS, 120_000, 0.999],
      ] as const) {
        const { clock, feed, pass, setIllness } = await open(t, () => random)
        setIllness(illness)
        await pass(illMs)
        setIllness(undefined)
        const wellAt = clock.now()
        const isUp = () => feed.status().state === 'up' && (feed.status().lastDataAt ?? 0) > wellAt
        await pass(limitMs, isUp)
        const tookMs = clock.now() - wellAt
        worst = Math.max(worst, tookMs)
        t.ok(isUp(), `${what} for ${illMs / 1_000} s: ${tookMs / 1_000} s`)
      }
    }
    t.comment(`worst: ${worst / 1_000} s`)
  })
}

/** Gives frames on the loopback time to arrive. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < 12; turns++) await turn()
}

function mostWithin(instants: readonly number[], windowMs: number): number {
  return Math.max(
    0,
    ...instants.map(from => instants.filter(at => at >= from && at < from + windowMs).length),
  )
}
