import { mkdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Milliseconds } from '@kimchi/core'
import { announce, EXPLAIN_AFTER_MS } from './announce.ts'
import type { Config } from './config.ts'
import { type PageServer, startPageServer } from './page-server.ts'
import { Ports } from './ports.ts'
import { reportQuarters } from './progress.ts'
import { openSupervisedRedis } from './supervised-redis.ts'
import { Supervisor } from './supervisor.ts'

/** What the stack gets from its process. */
export interface LocalContext {
  /** Prints a line for the person who started it. */
  readonly say: (line: string) => void
  /** Ends the stack. */
  readonly signal: AbortSignal
  readonly wait: (ms: Milliseconds) => Promise<void>
}

/**
 * Runs the whole service on this machine: Redis (its own unless `redisUrl` says otherwise), the ingester, the
 * API and the page; in a demo also the simulator. Prints their addresses and restarts what crashes. Resolves
 * when `signal` has ended all of it.
 * @throws KimchiError when the stack could not be started; everything is ended then, too
 * @throws Error when it can't go on
 */
export async function startLocal(config: Config, { say, signal, wait }: LocalContext): Promise<void> {
  const { dataDir, mode, path, root } = config
  const ending = new AbortController()
  const end = () => ending.abort()
  signal.addEventListener('abort', end, { once: true })
  let failure: Error | undefined
  const fail = (reason: string) => {
    failure ??= new Error(reason)
    end()
  }
  mkdirSync(dataDir, { recursive: true })
  const ports = new Ports()
  const showHistory = reportQuarters('History from candles', say)
  const supervisor = new Supervisor({
    logDir: join(dataDir, 'logs'),
    say,
    onRecord: ({ msg, percent }) => {
      if (msg === 'backfill') showHistory(Number(percent))
    },
    onFailure: () => fail('The service could not be started, or cannot go on; the reason is above.'),
    wait,
  })
  let redis: Awaited<ReturnType<typeof openSupervisedRedis>> | undefined
  let page: PageServer | undefined
  try {
    const apiPort = await ports.pick('PORT', 3_000, config.port)
    const [pageDir, api] = [join(root, 'apps/page/dist'), `http://127.0.0.1:${apiPort}`]
    const startPage = (port: number) => startPageServer(pageDir, api, port)
    page = await ports.start('PAGE_PORT', 8_080, startPage, config.pagePort)
    // Tools look for this line, the first one.
    say(`page ${page.url}`)
    if (config.redisUrl === undefined) {
      const onFailure = () => fail('The service cannot go on without Redis.')
      redis = await openSupervisedRedis({ dir: join(dataDir, 'redis'), path, ports, say, onFailure, wait })
    }
    if (!ending.signal.aborted) {
      const appPorts = await startApps(config, supervisor, ports, apiPort, redis?.url)
      const [redisCli, note] = [redis?.cli, ports.note()]
      const shown = { mode, ports: appPorts, redisCli, dataDir: shownPath(dataDir), note }
      void announce({ ...shown, say, signal: ending.signal })
    }
    if (!ending.signal.aborted)
      await new Promise(resolve => ending.signal.addEventListener('abort', resolve, { once: true }))
  } finally {
    end()
    say('Ending …')
    await page?.close()
    await supervisor.close()
    await redis?.close()
  }
  if (failure !== undefined) throw failure
}

/** Starts the apps, in a demo also the simulator. Gives the ports of the apps. */
async function startApps(
  config: Config,
  supervisor: Supervisor,
  ports: Ports,
  apiPort: number,
  redisUrl = config.redisUrl,
) {
  const { mode, env, host, root } = config
  const exchanges = mode === 'demo' ? await startSimulator(config, supervisor, ports) : {}
  const apiOps = await ports.pick('the ops port of the API', 9_464)
  const ingesterOps = await ports.pick('the ops port of the ingester', 9_465)
  const shared = { ...env, REDIS_URL: redisUrl, ...exchanges }
  supervisor.start({
    name: 'ingester',
    script: join(root, 'apps/ingester/dist/main.js'),
    env: { ...shared, OPS_PORT: String(ingesterOps) },
  })
  supervisor.start({
    name: 'api',
    script: join(root, 'apps/api/dist/main.js'),
    env: { ...shared, HOST: host, PORT: String(apiPort), OPS_PORT: String(apiOps) },
    // The API has nothing to read until the ingester has loaded its functions into Redis.
    calmMs: EXPLAIN_AFTER_MS,
  })
  return { api: apiPort, apiOps, ingesterOps }
}

/** Starts the simulator. Gives the variables that lead the apps to it. */
async function startSimulator({ env, root }: Config, supervisor: Supervisor, ports: Ports) {
  const port = await ports.pick('the simulator', 4_900)
  supervisor.start({
    name: 'simulator',
    script: join(root, 'packages/simulator/dist/main.js'),
    env: { ...env, HOST: '127.0.0.1', PORT: String(port) },
  })
  return {
    PRICES: 'simulated',
    UPBIT_WS_URL: `ws://127.0.0.1:${port}/websocket/v1`,
    UPBIT_REST_URL: `http://127.0.0.1:${port}`,
    BINANCE_WS_URL: `ws://127.0.0.1:${port}`,
    BINANCE_REST_URL: `http://127.0.0.1:${port}`,
  }
}

/** The folder as a person in the current directory would write it. */
function shownPath(folder: string): string {
  const path = relative(process.cwd(), folder)
  return path.startsWith('..') ? folder : path
}
