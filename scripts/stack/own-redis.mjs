import { setTimeout as delay } from 'node:timers/promises'
import { pickPort } from './ports.mjs'

const RESTART_AFTER_MS = 500

/** @typedef {import('@kimchi/local-redis').EmbeddedRedis} EmbeddedRedis */

/** The stack's own Redis, on one port and folder, started again when it ends by itself. To be used after the build. */
export class OwnRedis {
  #say
  #stopping = false
  /** @type {EmbeddedRedis | undefined} */
  #running

  /** Called when it cannot be started again. */
  onFailure = () => {}

  /** @param {{ say: (line: string) => void }} options */
  constructor({ say }) {
    this.#say = say
  }

  /**
   * @param {{ cacheDir: string, dir: string, path: string }} places
   * @returns {Promise<{ url: string, cli: string | undefined }>}
   */
  async start({ cacheDir, dir, path }) {
    const { findRedis, startEmbeddedRedis } = await import('@kimchi/local-redis')
    const binary = await findRedis({ cacheDir, path, log: this.#say })
    const port = await pickPort('Redis', undefined, 6379, this.#say)
    const launch = () => startEmbeddedRedis({ binary, dir, port })
    const redis = await launch()
    void this.#keepRunning(redis, launch)
    if (this.#stopping) await redis.stop()
    return { url: redis.url, cli: redis.cliCommand }
  }

  async stop() {
    this.#stopping = true
    await this.#running?.stop()
  }

  /** @param {EmbeddedRedis} redis @param {() => Promise<EmbeddedRedis>} launch */
  async #keepRunning(redis, launch) {
    this.#running = redis
    const { signal, code } = await redis.exited
    if (this.#stopping) return
    this.#say(`redis ended unexpectedly (${signal ?? `exit ${code}`}); starting it again.`)
    await delay(RESTART_AFTER_MS)
    if (this.#stopping) return
    try {
      const again = await launch()
      void this.#keepRunning(again, launch)
      if (this.#stopping) await again.stop()
    } catch (error) {
      this.#say(`redis could not be started again: ${error instanceof Error ? error.message : error}`)
      this.onFailure()
    }
  }
}
