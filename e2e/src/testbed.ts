import { fileURLToPath } from 'node:url'
import { type Simulator, startSimulator } from '@kimchi/simulator'
import { startProgram, startRedis, type Teardown } from '@kimchi/testkit'

const INGESTER = fileURLToPath(new URL('../../apps/ingester/dist/main.js', import.meta.url))

/** Starts Redis and the exchanges; whoever asks starts any number of ingester processes. Everything ends with it. */
export async function openTestbed(t: Teardown, coins: readonly string[]) {
  const redis = await startRedis(t)
  const exchanges: Simulator = await startSimulator({ seed: 'fault', limits: false })
  t.teardown(() => exchanges.close())
  return {
    redis,
    raw: redis.client(),
    exchanges,
    /** Starts an ingester process. */
    start(env: Record<string, string> = {}) {
      const fixed = { REDIS_URL: redis.url, ...exchanges.env }
      const settings = { PRICES: 'simulated', COINS: coins.join(','), BACKFILL_DAYS: '1', OPS_PORT: '0' }
      // The IPC channel ends the process when this one is gone.
      const stdio = ['ignore', 'pipe', 'pipe', 'ipc'] satisfies ('ignore' | 'pipe' | 'ipc')[]
      return startProgram(t, [INGESTER], { ...fixed, ...settings, ...env }, { stdio })
    },
  }
}
