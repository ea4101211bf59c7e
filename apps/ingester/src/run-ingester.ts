import type { Clock } from '@kimchi/core'
import { createLogger, runApp } from '@kimchi/runtime'
import packageJson from '../package.json' with { type: 'json' }
import { readConfig } from './config.ts'
import { startIngester } from './start.ts'

/** What the process that is to be an ingester knows. */
export interface RunOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  /** Names this ingester among others on the same Redis. */
  readonly id: string
}

/** Makes this process an ingester: configuration from `env`, a log on standard output, an end in order. */
export function runIngester({ env, clock, id }: RunOptions): Promise<void> {
  return runApp(async () => {
    const config = readConfig(env)
    const log = createLogger('ingester', config.LOG_LEVEL)
    const { version } = packageJson
    return startIngester({ config, log, clock, random: Math.random, id, version })
  })
}
