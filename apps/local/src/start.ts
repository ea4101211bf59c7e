import { mkdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Milliseconds } from '@kimchi/core'
import { announce } from './announce.ts'
import type { Config } from './config.ts'
import { type PageServer, startPageServer } from './page-server.ts'
import { pickPort } from './ports.ts'
import { openSupervisedRedis, type SupervisedRedis } from './supervised-redis.ts'
import { openSupervisor, type Supervisor } from './supervisor.ts'
import type { Terminal } from './terminal.ts'

/** What the stack gets from its process. */
export interface LocalContext {
  readonly terminal: Terminal
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
export async function startLocal(config: Config, { terminal, signal, wait }: LocalContext): Promise<void> {
  const { dataDir } = config
  const { say } = terminal
  const ending = new AbortController()
  signal.addEventListener('abort', () => ending.abort(), { once: true })
  let failure: Error | undefined
  const fail = (reason: string) => {
    failure ??= new Error(reason)
    ending.abort()
  }
  mkdirSync(dataDir, { recursive: true })
  const supervisor = openSupervisor({
    logDir: join(dataDir, 'logs'),
    say,
    onRecord: ({ msg, percent }) => {
      if (msg === 'backfill') terminal.progress('History from candles', Number(percent))
    },
    onFailure: () => fail('The service could not be started, or can not go on; the reason is above.'),
    wait,
  })
  let redis: SupervisedRedis | undefined
  let page: PageServer | undefined
  try {
    if (config.redisUrl === undefined) {
      redis = await openSupervisedRedis({
        dir: join(dataDir, 'redis'),
        path: config.path,
        say,
        onFailure: () => fail('The service can not go on without Redis.'),
        wait,
      })
    }
    if (!signal.aborted) page = await startApps(config, supervisor, redis, { say, signal: ending.signal })
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

async function startApps(
  config: Config,
  supervisor: Supervisor,
  redis: SupervisedRedis | undefined,
  { say, signal }: { readonly say: (line: string) => void; readonly signal: AbortSignal },
): Promise<PageServer | undefined> {
  const { mode, env, host, root } = config
  const exchanges = mode === 'demo' ? await startSimulator(config, supervisor, say) : {}
  const ports = {
    api: await pickPort({ name: 'PORT', asked: config.port, preferred: 3_000 }, say),
    apiOps: await pickPort({ name: 'the ops port of the API', preferred: 9_464 }, say),
    ingesterOps: await pickPort({ name: 'the ops port of the ingester', preferred: 9_465 }, say),
  }
  const pagePort = await pickPort({ name: 'PAGE_PORT', asked: config.pagePort, preferred: 8_080 }, say)
  if (signal.aborted) return undefined
  const page = await startPageServer({
    dir: join(root, 'apps/page/dist'),
    api: `http://127.0.0.1:${ports.api}`,
    host: '127.0.0.1',
    port: pagePort,
  })
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
  })
  const dataDir = shownPath(config.dataDir)
  void announce({ mode, page: page.url, ports, redisCli: redis?.cli, dataDir, say, signal })
  return page
}

async function startSimulator(
  { env, root }: Config,
  supervisor: Supervisor,
  say: (line: string) => void,
): Promise<Record<string, string>> {
  const port = await pickPort({ name: 'the simulator', preferred: 4_900 }, say)
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
