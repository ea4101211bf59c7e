#!/usr/bin/env node
/**
 * Runs the whole service on this machine: `stack.mjs live` on the real exchanges, `stack.mjs demo` on the simulator.
 * Builds what is stale, starts Redis (its own unless REDIS_URL says otherwise), the ingester and the API, says where
 * they are, restarts what crashes, and ends all of it within 5 s. Beside the apps' own variables it reads DATA_DIR, the
 * folder for its Redis and logs (default .data/demo or .data/live).
 */
import { mkdirSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { API_FLAGS, API_MALLOC } from './stack/api-process.mjs'
import { build } from './stack/build.mjs'
import { Children } from './stack/children.mjs'
import { narrate } from './stack/narrate.mjs'
import { OwnRedis } from './stack/own-redis.mjs'
import { pickPort } from './stack/ports.mjs'
import { Terminal } from './stack/terminal.mjs'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const terminal = new Terminal(process.stdout)
const say = (/** @type {string} */ line) => terminal.say(line)

const mode = process.argv[2]
if (mode !== 'demo' && mode !== 'live') {
  say(`the mode must be demo or live, got: ${mode}`)
  process.exit(1)
}

const { env } = process
const dataDir = env.DATA_DIR ? resolve(env.DATA_DIR) : join(ROOT, '.data', mode)
const children = new Children({ logDir: join(dataDir, 'logs'), say })
const ownRedis = new OwnRedis({ say })
const stopping = new AbortController()

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void stop(0))
children.onBootFailure = () => void stop(1)
children.onRecord = ({ msg, percent }) => {
  if (msg === 'backfill') terminal.progress('History from candles', Number(percent))
}
ownRedis.onFailure = () => void stop(1)

run(mode).catch(async error => {
  if (!stopping.signal.aborted) say(`Could not start: ${error.message}`)
  await stop(1)
})

/** @param {'demo' | 'live'} mode */
async function run(mode) {
  mkdirSync(dataDir, { recursive: true })
  await build(ROOT, { say, signal: stopping.signal })
  const redis =
    mode === 'live' && env.REDIS_URL
      ? { url: env.REDIS_URL, cli: undefined }
      : await ownRedis.start({
          cacheDir: join(ROOT, '.cache', 'redis'),
          dir: join(dataDir, 'redis'),
          path: env.PATH ?? '',
        })
  stopping.signal.throwIfAborted()
  const exchanges = mode === 'demo' ? await startSimulator() : {}
  const ports = {
    api: await pickPort('PORT', env.PORT, 3000, say),
    apiOps: await pickPort('OPS_PORT', undefined, 9464, say),
    ingesterOps: await pickPort('OPS_PORT', undefined, 9465, say),
  }
  const shared = { ...env, REDIS_URL: redis.url, ...exchanges }
  children.start('ingester', join(ROOT, 'apps/ingester/dist/main.js'), {
    ...shared,
    OPS_PORT: String(ports.ingesterOps),
  })
  const apiEnv = {
    ...shared,
    HOST: env.HOST || '127.0.0.1',
    PORT: String(ports.api),
    OPS_PORT: String(ports.apiOps),
    ...API_MALLOC,
  }
  children.start('api', join(ROOT, 'apps/api/dist/main.js'), apiEnv, API_FLAGS)
  await narrate({
    mode,
    ports,
    redisCli: redis.cli,
    dataDir: shown(dataDir),
    say,
    signal: stopping.signal,
  })
}

async function startSimulator() {
  const port = await pickPort('simulator', undefined, 4900, say)
  children.start('simulator', join(ROOT, 'packages/simulator/dist/main.js'), {
    ...env,
    HOST: '127.0.0.1',
    PORT: String(port),
  })
  return {
    PRICES: 'simulated',
    UPBIT_WS_URL: `ws://127.0.0.1:${port}/websocket/v1`,
    UPBIT_REST_URL: `http://127.0.0.1:${port}`,
    BINANCE_WS_URL: `ws://127.0.0.1:${port}`,
    BINANCE_REST_URL: `http://127.0.0.1:${port}`,
  }
}

/** @param {number} code */
async function stop(code) {
  if (stopping.signal.aborted) return
  stopping.abort()
  say('Ending …')
  await children.stopAll()
  await ownRedis.stop()
  process.exit(code)
}

/** @param {string} folder @returns {string} the shorter way to write it for somebody who is here */
function shown(folder) {
  const path = relative(process.cwd(), folder)
  return path.startsWith('..') ? folder : path
}
