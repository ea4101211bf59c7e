import { mkdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Milliseconds } from '@kimchi/core'
import { announce, EXPLAIN_AFTER_MS } from './announce.ts'
import type { Config } from './config.ts'
import { type PageServer, startPageServer } from './page-server.ts'
import { Ports } from './ports.ts'
import { Progress } from './progress.ts'
import { openSupervisedRedis, type SupervisedRedis } from './supervised-redis.ts'
import { openSupervisor, type Supervisor } from './supervisor.ts'

/** What the stack gets from its process. */
export interface LocalContext {
  /** Says a line to the person who started it. */
  readonly say: (line: string) => void
  /** Ends the stack. */
  readonly signal: AbortSignal
  readonly wait: (ms: Milliseconds) => Promise<void>
}

/**
 * Runs the whole service on this machine: Redis (its own unless `redisUrl` says otherwise), the ingester, the
 * API and the page; in a demo also the simulator. Says where they are and restarts what crashes. Resolves
 * when `signal` has ended all of it.
 * @throws KimchiError when the stack could not be started or can't go on; everything is ended then, too
 */
export async function startLocal(config: Config, { say, signal, wait }: LocalContext): Promise<void> {
  const { dataDir } = config
  const ending = new AbortController()
  signal.addEventListener('abort', () => ending.abort(), { once: true })
  let failure: Error | undefined
  const fail = (reason: string) => {
    failure ??= new Error(reason)
    ending.abort()
  }
  mkdirSync(dataDir, { recursive: true })
  const ports = new Ports()
  const history = new Progress('History from candles', say)
  const supervisor = openSupervisor({
    logDir: join(dataDir, 'logs'),
    say,
    onRecord: ({ msg, percent }) => {
      if (msg === 'backfill') history.show(Number(percent))
    },
    onFailure: () => fail('The service could not be started, or can not go on; the reason is above.'),
    wait,
  })
  let redis: SupervisedRedis | undefined
  let page: PageServer | undefined
  try {
    const apiPort = await ports.pick({ name: 'PORT', asked: config.port, preferred: 3_000 })
    page = await openPage(config, ports, apiPort)
    // The first line of all, and tools look for it: it stays as it is.
    say(`page ${page.url}`)
    if (config.redisUrl === undefined) {
      redis = await openSupervisedRedis({
        dir: join(dataDir, 'redis'),
        path: config.path,
        ports,
        say,
        onFailure: () => fail('The service can not go on without Redis.'),
        wait,
      })
    }
    if (!signal.aborted) {
      await startApps(config, { supervisor, redis, ports, apiPort, say, signal: ending.signal })
    }
    await aborted(ending.signal)
  } finally {
    ending.abort()
    say('Ending …')
    await page?.close()
    await supervisor.close()
    await redis?.close()
  }
  if (failure !== undefined) throw failure
}

async function openPage(config: Config, ports: Ports, apiPort: number): Promise<PageServer> {
  return startPageServer({
    dir: join(config.root, 'apps/page/dist'),
    api: `http://127.0.0.1:${apiPort}`,
    host: '127.0.0.1',
    port: await ports.pick({ name: 'PAGE_PORT', asked: config.pagePort, preferred: 8_080 }),
  })
}

/** What the apps are started with. */
interface Stack {
  readonly supervisor: Supervisor
  readonly redis: SupervisedRedis | undefined
  readonly ports: Ports
  readonly apiPort: number
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

async function startApps(config: Config, stack: Stack): Promise<void> {
  const { supervisor, redis, ports: pool, apiPort, say, signal } = stack
  const { mode, env, host, root } = config
  const exchanges = mode === 'demo' ? await startSimulator(config, supervisor, pool) : {}
  const ports = {
    api: apiPort,
    apiOps: await pool.pick({ name: 'the ops port of the API', preferred: 9_464 }),
    ingesterOps: await pool.pick({ name: 'the ops port of the ingester', preferred: 9_465 }),
  }
  if (signal.aborted) return
  const shared = { ...env, REDIS_URL: redis?.url ?? config.redisUrl, ...exchanges }
  supervisor.start({
    name: 'ingester',
    script: join(root, 'apps/ingester/dist/main.js'),
    env: { ...shared, OPS_PORT: String(ports.ingesterOps) },
  })
  supervisor.start({
    name: 'api',
    script: join(root, 'apps/api/dist/main.js'),
    env: { ...shared, HOST: host, PORT: String(ports.api), OPS_PORT: String(ports.apiOps) },
    // Until the ingester has loaded its functions into Redis the API has nothing to read.
    calmMs: EXPLAIN_AFTER_MS,
  })
  const dataDir = shownPath(config.dataDir)
  void announce({ mode, ports, redisCli: redis?.cli, dataDir, note: pool.note(), say, signal })
}

async function startSimulator(
  { env, root }: Config,
  supervisor: Supervisor,
  ports: Ports,
): Promise<Record<string, string>> {
  const port = await ports.pick({ name: 'the simulator', preferred: 4_900 })
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

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** The folder as a person in the current directory would write it. */
function shownPath(folder: string): string {
  const path = relative(process.cwd(), folder)
  return path.startsWith('..') ? folder : path
}
