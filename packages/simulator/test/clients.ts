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
export type Client = Awaited<ReturnType<typeof connect>>

// biome-ignore lint/suspicious/noExplicitAny: tests read fields of every kind of frame
export type Frame = any

/** Opens a WebSocket and resolves when it is open; cut with the test. */
export async function connect(t: Test, url: string) {
  const socket = new WebSocket(url)
  t.teardown(() => socket.terminate())
  const frames: { readonly text: string; readonly binary: boolean }[] = []
  let taken = 0
  let pongs = 0
  socket.on('message', (message, binary) => frames.push({ text: message.toString(), binary }))
  socket.on('pong', () => pongs++)
  const closed = new Promise<{ code: number; reason: string }>(resolve => {
    socket.on('close', (code, reason) => resolve({ code, reason: String(reason) }))
  })
  await once(socket, 'open')
  socket.on('error', () => {})
  return {
    socket,
    frames,
    closed,
    pongs: () => pongs,
    send: (message: unknown) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    /** The next matching frame after those returned before, parsed. */
    async next(matches: (frame: Frame) => boolean = () => true): Promise<Frame> {
      for (;;) {
        while (taken === frames.length) await once(socket, 'message')
        const frame = JSON.parse(frames[taken++]?.text ?? '') as Frame
        if (matches(frame)) return frame
      }
    },
    /** Resolves after a ping has been answered, when everything sent before has arrived. */
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
