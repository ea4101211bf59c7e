import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePort } from '@kimchi/local-redis'
import { startSimulator } from '@kimchi/simulator'
import { eventually, startRedis, type Teardown } from '@kimchi/testkit'
import { preview } from 'vite'

/** The real service on simulated exchanges, with the built page in front. */
export interface Stack {
  /** Base of the page. */
  readonly page: string
  /** Base of the API itself. */
  readonly api: string
  /** Ends the API at once (SIGKILL). */
  killApi(): Promise<void>
  startApi(): Promise<void>
}

/** As many as an ingester tracks by default. */
const COINS = 10

const ROOT = fileURLToPath(new URL('../', import.meta.url))

/** Starts everything; torn down with the test. */
export async function startStack(t: Teardown): Promise<Stack> {
  const redis = await startRedis(t)
  const exchanges = await startSimulator({ seed: 'page' })
  t.teardown(() => exchanges.close())
  const shared = { PATH: process.env.PATH ?? '', REDIS_URL: redis.url, OPS_PORT: '0' }
  const ingester = start(t, '../../ingester/dist/main.js', {
    ...shared,
    PRICES: 'simulated',
    BACKFILL_DAYS: '2',
    UPBIT_WS_URL: exchanges.upbitWsUrl,
    UPBIT_REST_URL: exchanges.upbitRestUrl,
    BINANCE_WS_URL: exchanges.binanceWsUrl,
    BINANCE_REST_URL: exchanges.binanceRestUrl,
  })
  ingester.stderr?.resume()
  ingester.stdout?.resume()
  const port = await freePort()
  const api = `http://127.0.0.1:${port}`
  let child: ChildProcess
  const startApi = async () => {
    child = start(t, '../../api/dist/main.js', { ...shared, HOST: '127.0.0.1', PORT: String(port) })
    await firstLine(child)
    await untilAllListed(`${api}/api/v1/kimchi-premium`)
  }
  await startApi()
  const server = await preview({
    root: ROOT,
    logLevel: 'silent',
    preview: { port: 0, proxy: { '/api/': { target: api } } },
  })
  t.teardown(() => server.close())
  const [page = ''] = server.resolvedUrls?.local ?? []
  return {
    page,
    api,
    startApi,
    killApi: async () => {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}

function start(t: Teardown, main: string, env: Record<string, string>): ChildProcess {
  const child = spawn(
    process.execPath,
    ['--enable-source-maps', fileURLToPath(new URL(main, import.meta.url))],
    {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

async function firstLine(child: ChildProcess): Promise<void> {
  if (!child.stdout) return
  child.stderr?.resume()
  await once(createInterface({ input: child.stdout }), 'line')
}

/** Candles fill one coin after another: some are listed before the others. */
async function untilAllListed(url: string): Promise<void> {
  const countOf = async () => ((await (await fetch(url)).json()) as { count?: number }).count
  const isComplete = async () => (await countOf()) === COINS
  await eventually('every coin', () => isComplete().catch(() => false))
}
