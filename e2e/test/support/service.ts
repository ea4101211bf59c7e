import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '@kimchi/local-redis'
import { type Simulator, startSimulator } from '@kimchi/simulator'
import { createFolder, eventually, startRedis, type Teardown, type TestRedis } from '@kimchi/testkit'
import { getJson, type Replica, startApp, startReplicas } from '../../src/apps.ts'

/** Prices are a pure function of the seed, so another simulator knows what the exchanges send. */
const SEED = 'journey'

/** The same exchanges as those of {@link openService}, for their prices. */
export async function openTruth(t: Teardown): Promise<Simulator> {
  const truth = await startSimulator({ seed: SEED, pumpMs: 0 })
  t.teardown(() => truth.close())
  return truth
}

/** The whole service as real processes: Redis and the API; the test starts the exchanges and the ingester. */
export async function openService(t: Teardown, coins: readonly string[]) {
  const aclFile = join(await createFolder(t), 'users.acl')
  await writeFile(aclFile, '')
  const redis = await startRedis(t, { appendonly: true, args: ['--aclfile', aclFile] })
  await createUsers(redis)
  const urlOf = (user: string) => redis.url.replace('//', `//${user}:${user}@`)
  const { apiPort, replicas } = await startReplicas(t, urlOf('api'))
  const port = String(await freePort())
  const authority = `127.0.0.1:${port}`
  return {
    redis,
    replica: replicas[0] as Replica,
    /** The live route. */
    api: `http://127.0.0.1:${apiPort}/api/v1/kimchi-premium`,
    /** Starts the exchanges and waits until they answer. */
    async startExchanges() {
      const exchanges = startApp(t, 'simulator', { PORT: port, SEED })
      await eventually('the simulator answers', () => getJson(`http://${authority}/api/v3/ping`))
      return exchanges
    },
    startIngester: () =>
      startApp(t, 'ingester', {
        REDIS_URL: urlOf('ingester'),
        PRICES: 'simulated',
        COINS: coins.join(','),
        BACKFILL_DAYS: '1',
        UPBIT_WS_URL: `ws://${authority}/websocket/v1`,
        UPBIT_REST_URL: `http://${authority}`,
        BINANCE_WS_URL: `ws://${authority}`,
        BINANCE_REST_URL: `http://${authority}`,
        OPS_PORT: '0',
      }),
  }
}

/** The users of production, which are kept in a file that a restarted server reads again. */
async function createUsers(redis: TestRedis): Promise<void> {
  const acl = await readFile(new URL('../../../deploy/redis/users.acl', import.meta.url), 'utf8')
  const raw = redis.client()
  for (const line of acl
    .split('\n')
    .filter(line => line.startsWith('user ') && !line.startsWith('user default'))) {
    await raw.call('ACL', 'SETUSER', ...line.split(' ').slice(1))
  }
  await raw.call('ACL', 'SAVE')
}
