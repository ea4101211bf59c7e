import type { Milliseconds } from '@kimchi/core'
import { type EmbeddedRedis, projectRedis, startEmbeddedRedis } from '@kimchi/local-redis'
import type { Ports } from './ports.ts'

const RESTART_AFTER_MS: Milliseconds = 500

/** What the stack's own Redis is opened with. */
export interface SupervisedRedisOptions {
  readonly dir: string
  readonly path: string
  readonly ports: Ports
  readonly say: (line: string) => void
  /** Called when it can't be started again. */
  readonly onFailure: () => void
  readonly wait: (ms: Milliseconds) => Promise<void>
}

/** The stack's own Redis: one port and folder, started again when it ends by itself. */
export interface SupervisedRedis {
  readonly url: string
  /** The redis-cli command that reaches it; undefined when no redis-cli was found. */
  readonly cli: string | undefined
  close(): Promise<void>
}

/** Finds or fetches a Redis and starts it. @throws KimchiError when there is none, or the folder is in use */
export async function openSupervisedRedis(options: SupervisedRedisOptions): Promise<SupervisedRedis> {
  const { dir, path, ports, say, onFailure, wait } = options
  const binary = await projectRedis(path, say)
  const port = await ports.pick({ name: 'Redis', preferred: 6379 })
  const launch = () => startEmbeddedRedis({ binary, dir, port })
  let running = await launch()
  let isClosing = false
  const { url, cliCommand: cli } = running

  async function keepRunning(redis: EmbeddedRedis): Promise<void> {
    const { signal, code } = await redis.exited
    if (isClosing) return
    say(`redis ended unexpectedly (${signal ?? `exit ${code}`}); starting it again.`)
    await wait(RESTART_AFTER_MS)
    if (isClosing) return
    try {
      running = await launch()
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
    cli,
    close: async () => {
      isClosing = true
      await running.stop()
    },
  }
}
