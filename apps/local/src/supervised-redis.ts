import type { Milliseconds } from '@kimchi/core'
import { type EmbeddedRedis, projectRedis, startEmbeddedRedis } from '@kimchi/local-redis'
import type { Ports } from './ports.ts'

const RESTART_AFTER_MS: Milliseconds = 500

/** What the stack's own Redis is opened with. */
export interface SupervisedRedisOptions {
  readonly dir: string
  /** The folders in which programs are looked for, as PATH names them. */
  readonly path: string
  readonly ports: Ports
  readonly say: (line: string) => void
  /** Called when it can't be started again. */
  readonly onFailure: () => void
  readonly wait: (ms: Milliseconds) => Promise<void>
}

/**
 * Finds or fetches a Redis, starts it, and starts it again on its port whenever it ends by itself.
 * @throws KimchiError when there is none, or the folder is in use
 */
export async function openSupervisedRedis(options: SupervisedRedisOptions) {
  const { dir, path, ports, say, onFailure, wait } = options
  const binary = await projectRedis(path, say)
  let running = await ports.start('Redis', 6379, port => startEmbeddedRedis({ binary, dir, port }))
  let isClosing = false
  const { url, port, cliCommand: cli } = running

  async function keepRunning(redis: EmbeddedRedis): Promise<void> {
    const { signal, code } = await redis.exited
    if (isClosing) return
    say(`redis ended unexpectedly (${signal ?? `exit ${code}`}); starting it again.`)
    await wait(RESTART_AFTER_MS)
    if (isClosing) return
    try {
      running = await startEmbeddedRedis({ binary, dir, port })
      if (isClosing) await running.stop()
      void keepRunning(running)
    } catch (thrown) {
      say(`redis could not be started again: ${thrown instanceof Error ? thrown.message : thrown}`)
      onFailure()
    }
  }
  void keepRunning(running)
  return {
    url,
    /** The redis-cli command that reaches it; undefined when no redis-cli was found. */
    cli,
    close: async () => {
      isClosing = true
      await running.stop()
    },
  }
}
