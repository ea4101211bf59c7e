import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type Agent, get } from 'node:http'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { EpochMinute, Sample } from '@kimchi/core'
import { premiumE4 } from '@kimchi/core'
import { createLogger, systemClock } from '@kimchi/runtime'
import { createWriter, openRedis, type SampleWriter } from '@kimchi/store'
import { readConfig } from '../src/config.ts'
import { type RunningApi, startApi } from '../src/start.ts'
import type { SeenAnswer } from './contract.ts'

interface Teardown {
  teardown(close: () => unknown): void
}

const COINS = ['BTC', 'ETH', 'XRP']

/** A sample as a live feed would bring it; the price differs from minute to minute. */
export function sampleOf(symbol: string, minute: EpochMinute): Sample {
  const [upbitKrw, binanceUsdt, usdtKrw] = [143_500_000 + (minute % 1_000), 101_250.5, 1_400]
  const premium = premiumE4(upbitKrw, binanceUsdt, usdtKrw)
  return { symbol, minute, upbitKrw, binanceUsdt, usdtKrw, premiumE4: premium, source: 'live' }
}

/** A writer that tracks these coins. */
export async function openTestWriter(
  t: Teardown,
  url: string,
  symbols: readonly string[] = COINS,
): Promise<SampleWriter & { writeMinute(minute: EpochMinute): Promise<unknown> }> {
  const redis = openRedis(url)
  t.teardown(() => redis.close())
  await redis.untilReady(5_000)
  const writer = createWriter({ redis, prices: 'live', retentionDays: 8, log: createLogger('api', 'silent') })
  await writer.track(
    symbols.map(symbol => ({
      symbol,
      name: `Coin ${symbol}`,
      upbit: `KRW-${symbol}`,
      binance: `${symbol}USDT`,
    })),
  )
  const writeMinute = (minute: EpochMinute) =>
    writer.write({ minute, samples: symbols.map(symbol => sampleOf(symbol, minute)) })
  return { ...writer, writeMinute }
}

/** The API in this process, on free ports. */
export async function startTestApi(
  t: Teardown,
  url: string,
): Promise<RunningApi & { base: string; ops: string }> {
  const config = readConfig({ REDIS_URL: url, HOST: '127.0.0.1', PORT: '0', OPS_PORT: '0' })
  const api = await startApi(config, {
    log: createLogger('api', 'silent'),
    clock: systemClock,
    version: 'test',
  })
  t.teardown(() => api.close())
  return {
    ...api,
    base: `http://127.0.0.1:${api.port}/api/v1/kimchi-premium`,
    ops: `http://127.0.0.1:${api.opsPort}`,
  }
}

/** A replica as a process of its own. */
export interface Replica {
  readonly child: ChildProcess
  readonly port: number
  readonly opsPort: number
  readonly base: string
  readonly lines: readonly string[]
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<number | null>
}

/** Starts the real program on free ports (or on `port`) and waits until it says that it listens. */
export async function startReplica(t: Teardown, url: string, port = 0): Promise<Replica> {
  const main = fileURLToPath(new URL('../dist/main.js', import.meta.url))
  const child = spawn(process.execPath, [main], {
    env: { REDIS_URL: url, HOST: '127.0.0.1', PORT: String(port), OPS_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const lines: string[] = []
  const listening = new Promise<{ port: number; opsPort: number }>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', line => {
      lines.push(line)
      const { msg, port, opsPort } = JSON.parse(line)
      if (msg === 'API listens') resolve({ port, opsPort })
    })
    child.once('exit', code => reject(new Error(`the API ended with ${code} before it listened`)))
  })
  const ports = await listening
  return {
    child,
    ...ports,
    base: `http://127.0.0.1:${ports.port}/api/v1/kimchi-premium`,
    lines,
    end: async signal => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill(signal)
        await once(child, 'exit')
      }
      return child.exitCode
    },
  }
}

/** Asks again and again, 10 ms apart, until the answer is not undefined; gives up after 10 s. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const until = Date.now() + 10_000
  while (Date.now() < until) {
    const found = await ask()
    if (found !== undefined) return found
    await systemClock.wait(10)
  }
  throw new Error(`not within 10 s: ${what}`)
}

/**
 * One GET with Node's own client, which neither decodes nor retries, on its own connection or one of `agent`.
 */
export function ask(url: string, headers = {}, agent?: Agent): Promise<SeenAnswer> {
  return new Promise((resolve, reject) => {
    const request = get(url, { headers, agent: agent ?? false }, response => {
      const chunks: Buffer[] = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      )
    })
    request.on('error', error => {
      // A kept connection that turns out to be closed: asked again on a fresh one. @see RFC 9112 §9.3.1
      if (!request.reusedSocket) return reject(error)
      ask(url, headers).then(resolve, reject)
    })
  })
}

// biome-ignore lint/suspicious/noExplicitAny: read as a caller of the API reads it
export async function getJson(url: string): Promise<any> {
  return JSON.parse((await ask(url)).body)
}
