import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Milliseconds } from '@kimchi/core'
import { type EmbeddedRedis, projectRedis, startEmbeddedRedis } from '@kimchi/local-redis'
import { announce, EXPLAIN_AFTER_MS } from './announce.ts'
import { startApp } from './app.ts'
import type { Config } from './config.ts'
import { startPageServer } from './page-server.ts'
import { Ports } from './ports.ts'
import { reportQuarters } from './progress.ts'
import { Supervisor } from './supervisor.ts'

/** What the stack gets from its process. */
export interface LocalContext {
  /** Prints a line for the person who started it. */
  readonly say: (line: string) => void
  /** Ends the stack. */
  readonly signal: AbortSignal
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly wait: (ms: Milliseconds) => Promise<void>
}

/**
 * Runs the whole service on this machine: Redis (its own unless `REDIS_URL` says otherwise), the ingester, the
 * API and the page; in a demo also the simulator. Prints their addresses and restarts what ends by itself.
 * Resolves when `signal` has ended all of it.
 * @throws KimchiError when the stack could not be started; everything is ended then, too
 * @throws Error when it can't go on
 */
export async function startLocal(config: Config, context: LocalContext): Promise<void> {
  const { say, signal, now, wait } = context
  const startedAt = now()
  mkdirSync(join(config.dataDir, 'logs'), { recursive: true })
  const failing = new AbortController()
  const ending = AbortSignal.any([signal, failing.signal])
  const supervisor = new Supervisor({ say, onFailure: () => failing.abort(), wait })
  ending.addEventListener('abort', () => supervisor.close(), { once: true })
  let page: { url: string; close: () => Promise<void> } | undefined
  try {
    const ports = new Ports()
    const redis =
      config.REDIS_URL === undefined ? await startRedis(config, context, supervisor, ports) : undefined
    const shown = await startApps(config, context, supervisor, ports, redis?.url)
    const startPage = (port: number) =>
      startPageServer(join(config.root, 'apps/page/dist'), `http://127.0.0.1:${shown.api}`, port)
    page = await ports.start('PAGE_PORT', 8_080, startPage, config.PAGE_PORT)
    void announce({
      ...{ mode: config.mode, page: page.url, ports: shown, redisCli: redis?.cliCommand },
      ...{ dataDir: shownPath(config.dataDir), note: ports.note(), startedAt, say, signal: ending },
    })
    if (!ending.aborted) await once(ending, 'abort')
  } catch (thrown) {
    // The end of the stack also ends what has not started yet, and that is no error.
    if (!ending.aborted) throw thrown
  } finally {
    say('Ending …')
    await page?.close()
    await supervisor.close()
  }
  if (failing.signal.aborted) throw new Error('The service cannot go on; the reason is above.')
}

/** Finds or fetches a Redis, and starts it; it keeps its port when it has to be started again. */
async function startRedis(
  { PATH, dataDir }: Config,
  { say, signal }: LocalContext,
  supervisor: Supervisor,
  ports: Ports,
): Promise<EmbeddedRedis | undefined> {
  const [binary, dir] = [await projectRedis(PATH, say, signal), join(dataDir, 'redis')]
  const startAt = (port: number) => startEmbeddedRedis({ binary, dir, port })
  let redis: EmbeddedRedis | undefined
  await supervisor.start('redis', async () => {
    redis = await (redis ? startAt(redis.port) : ports.start('Redis', 6_379, startAt))
    return redis
  })
  return redis
}

/** Starts the apps, in a demo the simulator before them. Gives the ports of the apps. */
async function startApps(
  config: Config,
  { say, wait }: LocalContext,
  supervisor: Supervisor,
  ports: Ports,
  redisUrl = config.REDIS_URL,
) {
  const { mode, root, dataDir, HOST, PORT } = config
  const showHistory = reportQuarters('History from candles', say, () => performance.now())
  const start = (name: string, script: string, env: Config['env'], calmMs = 0) =>
    supervisor.start(name, signal =>
      startApp(
        {
          ...{ name, script: join(root, script), env: { ...config.env, ...env }, calmMs, say, wait },
          logDir: join(dataDir, 'logs'),
          onRecord: ({ msg, percent }) => msg === 'backfill' && showHistory(Number(percent)),
        },
        signal,
      ),
    )
  const startSimulator = (port: number) =>
    start('simulator', 'packages/simulator/dist/main.js', { HOST: '127.0.0.1', PORT: String(port) }).then(
      () => ({
        PRICES: 'simulated',
        UPBIT_WS_URL: `ws://127.0.0.1:${port}/websocket/v1`,
        UPBIT_REST_URL: `http://127.0.0.1:${port}`,
        BINANCE_WS_URL: `ws://127.0.0.1:${port}`,
        BINANCE_REST_URL: `http://127.0.0.1:${port}`,
      }),
    )
  const exchanges = mode === 'demo' ? await ports.start('the simulator', 4_900, startSimulator) : {}
  const shared = { ...exchanges, REDIS_URL: redisUrl }
  const ingesterOps = await ports.start('the ops port of the ingester', 9_465, async port => {
    await start('ingester', 'apps/ingester/dist/main.js', { ...shared, OPS_PORT: String(port) })
    return port
  })
  const startApi = (api: number) =>
    ports.start('the ops port of the API', 9_464, async apiOps => {
      const env = { ...shared, HOST, PORT: String(api), OPS_PORT: String(apiOps) }
      // The API has nothing to read until the ingester has loaded its functions into Redis.
      await start('api', 'apps/api/dist/main.js', env, EXPLAIN_AFTER_MS)
      return { api, apiOps, ingesterOps }
    })
  return ports.start('PORT', 3_000, startApi, PORT)
}

/** The folder as a person in the current directory would write it. */
function shownPath(folder: string): string {
  const path = relative(process.cwd(), folder)
  return path.startsWith('..') ? folder : path
}
