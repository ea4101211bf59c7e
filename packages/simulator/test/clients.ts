import { once } from 'node:events'
import type { Test } from 'tap'
import { WebSocket } from 'ws'
import { type SentFrame, type SimulatorOptions, startSimulator } from '../src/index.ts'
import type { EpochMs, Milliseconds } from '../src/market/types.ts'

/** 2026-11-20T13:37:30Z, in the middle of a minute. */
export const NOON: EpochMs = Date.UTC(2026, 10, 20, 13, 37, 30)

/** A simulator with a clock that stands still, and frames only on `pump()`; closed with the test. */
export async function startManual(t: Test, options: SimulatorOptions = {}) {
  let now = NOON
  const clock = {
    now: () => now,
    advance(ms: Milliseconds) {
      now += ms
    },
  }
  const sent: SentFrame[] = []
  const simulator = await startSimulator({ clock, pumpMs: 0, onFrame: frame => sent.push(frame), ...options })
  t.teardown(() => simulator.close())
  /** Moves the clock on in steps and sends what is due after each. */
  const run = (ms: Milliseconds, stepMs: Milliseconds = ms): void => {
    for (let passed = 0; passed < ms; passed += stepMs) {
      clock.advance(stepMs)
      simulator.pump()
    }
  }
  return { simulator, clock, sent, run }
}

/** One open WebSocket with everything it has received. */
export interface Client {
  readonly socket: WebSocket
  readonly frames: { readonly text: string; readonly bytes: Buffer; readonly binary: boolean }[]
  /** Number of pongs received. */
  readonly pongs: () => number
  readonly closed: Promise<{ code: number; reason: string }>
  send(message: unknown): void
  /** The next matching frame after those returned before, parsed. */
  next(matches?: (frame: Frame) => boolean): Promise<Frame>
  /** Resolves after a ping has been answered, when everything sent before has arrived. */
  settled(): Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: tests read fields of every kind of frame
export type Frame = any

/** Opens a WebSocket and resolves when it is open; cut with the test. */
export async function connect(t: Test, url: string): Promise<Client> {
  const socket = new WebSocket(url)
  t.teardown(() => socket.terminate())
  const frames: Client['frames'] = []
  const wakers = new Set<() => void>()
  let taken = 0
  let pongs = 0
  socket.on('message', (message, binary) => {
    const bytes = message as Buffer
    frames.push({ text: bytes.toString(), bytes, binary })
    for (const wake of wakers) wake()
  })
  socket.on('pong', () => pongs++)
  const closed = new Promise<{ code: number; reason: string }>(resolve => {
    socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }))
  })
  await once(socket, 'open')
  socket.on('error', () => {})
  const take = (matches: (frame: Frame) => boolean): Frame | undefined => {
    while (taken < frames.length) {
      const frame = JSON.parse(frames[taken++]?.text ?? '') as Frame
      if (matches(frame)) return frame
    }
    return undefined
  }
  return {
    socket,
    frames,
    closed,
    pongs: () => pongs,
    send: message => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    next: (matches = () => true) =>
      new Promise(resolve => {
        const look = (): void => {
          const found = take(matches)
          if (found === undefined) return
          wakers.delete(look)
          resolve(found)
        }
        wakers.add(look)
        look()
      }),
    async settled() {
      const pong = once(socket, 'pong')
      socket.ping()
      await pong
    },
  }
}

/** Body and status of a GET. */
export async function get(url: string): Promise<{ status: number; body: Frame; headers: Headers }> {
  const response = await fetch(url)
  const text = await response.text()
  return {
    status: response.status,
    body: text === '' ? undefined : JSON.parse(text),
    headers: response.headers,
  }
}

/** An Upbit subscription of tickers. */
export function tickersOf(...codes: string[]): unknown[] {
  return [{ ticket: 'test' }, { type: 'ticker', codes }]
}

/** One client of each exchange that has received its first frames. */
export async function bothClients(t: Test) {
  const manual = await startManual(t, { limits: false })
  const { simulator, run } = manual
  const upbit = await connect(t, simulator.env.UPBIT_WS_URL)
  upbit.send(tickersOf('KRW-BTC', 'KRW-ETH'))
  await upbit.next()
  await upbit.next()
  const binance = await connect(
    t,
    `${simulator.env.BINANCE_WS_URL}/stream?streams=btcusdt@miniTicker/ethusdt@miniTicker`,
  )
  run(5_000)
  await Promise.all([upbit.settled(), binance.settled()])
  const fresh = async (client: Client, ms = 5_000): Promise<Client['frames']> => {
    await client.settled()
    const before = client.frames.length
    run(ms, 100)
    await client.settled()
    return client.frames.slice(before)
  }
  return { ...manual, upbit, binance, fresh }
}

/** Every frame's JSON. */
export const parsed = (frames: Client['frames']) => frames.map(frame => JSON.parse(frame.text))
