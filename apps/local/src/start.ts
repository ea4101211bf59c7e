import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { KimchiError, settingError } from '@kimchi/core'
import { type EmbeddedRedis, projectRedis, projectRoot, startEmbeddedRedis } from '@kimchi/local-redis'
import { startApp } from './app.ts'
import type { Config } from './config.ts'
import { startPageServer } from './page-server.ts'
import { pickPort, urlOf } from './ports.ts'
import { showStartupMessage } from './startup-message.ts'
import { type LocalContext, Supervisor } from './supervisor.ts'

/** Names the page of the stack that uses a data folder, for whoever starts a second one there. */
const PAGE_FILE = 'page-address'

/**
 * Runs the whole service on this machine: Redis (its own unless `REDIS_URL` says otherwise), the ingester, the
 * API and the page; in a demo also the simulator. Prints their addresses and restarts what ends by itself.
 * Resolves when `signal` has ended all of it.
 * @throws KimchiError when the stack could not be started; everything is ended then, too
 * @throws Error when it can't go on
 */
export async function startLocal(config: Config, context: LocalContext): Promise<void> {
  const { say } = context
  const supervisor = new Supervisor(context)
  const { ending } = supervisor
  let page: { url: string; close: () => Promise<void> } | undefined
  try {
    mkdirSync(join(config.dataDir, 'logs'), { recursive: true })
    const redis = config.REDIS_URL === undefined ? await startRedis(config, say, supervisor) : undefined
    const ports = await startApps(config, context, supervisor, redis?.url)
    const api = urlOf(config.HOST, ports.api)
    const files = join(projectRoot(), 'apps/page/dist')
    const { PAGE_HOST: host, PAGE_PORT } = config
    const port = await pickPort(8_080, { name: 'PAGE_PORT', port: PAGE_PORT, host })
    page = await startPageServer(files, api, port, host)
    await writeFile(join(config.dataDir, PAGE_FILE), page.url)
    const { mode, dataDir } = config
    const shown = { mode, page: page.url, api, ports, redisCli: redis?.cliCommand, dataDir }
    void showStartupMessage({ ...context, signal: ending, ...shown })
    if (!ending.aborted) await once(ending, 'abort')
  } catch (thrown) {
    // The end of the stack also ends what has not started yet, and that is no error.
    if (!ending.aborted) throw ofDataDir(thrown, config.dataDir)
  } finally {
    if (ending.aborted) say('Ending…')
    await page?.close()
    await supervisor.close()
  }
  if (!context.signal.aborted) throw new Error('The service cannot go on; the reason is above.')
}

/** At the start a system call fails either for a program or for a file of the data folder. */
function ofDataDir(thrown: unknown, dataDir: string): unknown {
  const { syscall } = thrown as NodeJS.ErrnoException
  if (syscall === undefined || syscall.startsWith('spawn')) return thrown
  return settingError(
    'DATA_DIR',
    'a folder of a local disk, all of which this user can write',
    dataDir,
    thrown,
  )
}

/** Finds or fetches a Redis, and starts it; it keeps its port when it has to be started again. */
async function startRedis(
  { dataDir, mode }: Config,
  say: LocalContext['say'],
  supervisor: Supervisor,
): Promise<EmbeddedRedis> {
  const binary = await projectRedis(say, supervisor.ending)
  const dir = join(dataDir, 'redis')
  const port = await pickPort(6_379)
  const start = (signal: AbortSignal) => startEmbeddedRedis({ binary, dir, port, signal })
  return supervisor.start('redis', start).catch(async thrown => {
    if (thrown?.cause?.code !== 'EBUSY') throw thrown
    const page = await readFile(join(dataDir, PAGE_FILE), 'utf8').catch(() => 'not known')
    const command = mode === 'demo' ? 'npm run demo' : 'npm start'
    const message = `A service runs in ${dataDir} already; its page is ${page}\nAnother one needs a folder of its own: DATA_DIR=.data/other ${command}`
    throw new KimchiError('KIMCHI_ERR_CONFIG', message)
  })
}

/** Starts the apps, in a demo the simulator before them. Gives the ports of the apps. */
async function startApps(
  config: Config,
  context: LocalContext,
  supervisor: Supervisor,
  redisUrl = config.REDIS_URL,
) {
  const { mode, HOST, PORT } = config
  const logDir = join(config.dataDir, 'logs')
  const start = (name: string, script: string, ownEnv: Config['env']) => {
    const env = { ...config.env, ...ownEnv }
    const app = { name, script: join(projectRoot(), script), env, logDir }
    return supervisor.start(name, signal => startApp(app, context.say, signal))
  }
  const startSimulator = async () => {
    const port = await pickPort(4_900)
    const address = `127.0.0.1:${port}`
    await start('simulator', 'packages/simulator/dist/main.js', { HOST: '127.0.0.1', PORT: `${port}` })
    return {
      PRICES: 'simulated',
      UPBIT_WS_URL: `ws://${address}/websocket/v1`,
      UPBIT_REST_URL: `http://${address}`,
      BINANCE_WS_URL: `ws://${address}`,
      BINANCE_REST_URL: `http://${address}`,
    }
  }
  const exchanges = mode === 'demo' ? await startSimulator() : {}
  const shared = { ...exchanges, REDIS_URL: redisUrl }
  const ingesterOps = await pickPort(9_465)
  await start('ingester', 'apps/ingester/dist/main.js', { ...shared, OPS_PORT: `${ingesterOps}` })
  const api = await pickPort(3_000, { name: 'PORT', port: PORT, host: HOST })
  const apiOps = await pickPort(9_464)
  await start('api', 'apps/api/dist/main.js', { ...shared, HOST, PORT: `${api}`, OPS_PORT: `${apiOps}` })
  return { api, apiOps, ingesterOps }
}
