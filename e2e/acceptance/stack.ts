import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '@kimchi/local-redis'
import { createFolder, type Program, startRedis, type Teardown, type TestRedis } from '@kimchi/testkit'
import { startApp } from '../src/apps.ts'

/**
 * The whole service as real processes on ports of its own; each can be ended and started again where it was.
 */
export interface Stack {
  readonly redis: TestRedis
  /** Base of the simulator, `http://host:port`. */
  readonly exchanges: string
  /** The live route. */
  readonly api: string
  start(app: 'simulator' | 'ingester' | 'api'): Program
  /** The process that runs now. */
  running(app: 'simulator' | 'ingester' | 'api'): Program
}

/** Starts Redis and chooses ports; the apps are started by the test. Everything ends with the test. */
export async function openStack(t: Teardown, env: Record<string, string> = {}): Promise<Stack> {
  const aclFile = join(await createFolder(t), 'users.acl')
  await writeFile(aclFile, '')
  const redis = await startRedis(t, { appendonly: true, args: ['--aclfile', aclFile] })
  const [exchangePort, apiPort] = [await freePort(), await freePort()]
  const authority = `127.0.0.1:${exchangePort}`
  await createUsers(redis)
  const urlOf = (user: string) => redis.url.replace('//', `//${user}:${user}@`)
  const shared = { LOG_LEVEL: 'info', ...env }
  const environments = {
    simulator: { HOST: '127.0.0.1', PORT: String(exchangePort), SEED: 'journey' },
    ingester: {
      ...shared,
      REDIS_URL: urlOf('ingester'),
      PRICES: 'simulated',
      UPBIT_WS_URL: `ws://${authority}/websocket/v1`,
      UPBIT_REST_URL: `http://${authority}`,
      BINANCE_WS_URL: `ws://${authority}`,
      BINANCE_REST_URL: `http://${authority}`,
      OPS_PORT: '0',
    },
    api: {
      ...shared,
      REDIS_URL: urlOf('api'),
      HOST: '127.0.0.1',
      PORT: String(apiPort),
      OPS_PORT: '0',
    },
  }
  const processes = new Map<string, Program>()
  t.teardown(() => Promise.all([...processes.values()].map(running => running.end('SIGKILL'))))
  return {
    redis,
    exchanges: `http://${authority}`,
    api: `http://127.0.0.1:${apiPort}/api/v1/kimchi-premium`,
    start(app) {
      const started = startApp(app, environments[app])
      processes.set(app, started)
      return started
    },
    running: app => processes.get(app) as Program,
  }
}

/** The users of production, which are kept in a file that a restarted server reads again. */
async function createUsers(redis: TestRedis): Promise<void> {
  const acl = await readFile(new URL('../../deploy/redis/users.acl', import.meta.url), 'utf8')
  const raw = redis.client()
  for (const line of acl
    .split('\n')
    .filter(line => line.startsWith('user ') && !line.startsWith('user default'))) {
    await raw.call('ACL', 'SETUSER', ...line.split(' ').slice(1))
  }
  await raw.call('ACL', 'SAVE')
}
