import { hostname } from 'node:os'
import { createLogger, runApp, systemClock, withSecretFile } from '@kimchi/runtime'
import { holderId } from '@kimchi/store'
import packageJson from '../package.json' with { type: 'json' }
import { readConfig } from './config.ts'
import { startIngester } from './start.ts'

await runApp(() => {
  const config = readConfig(withSecretFile(process.env))
  return startIngester(config, {
    log: createLogger('ingester', config.LOG_LEVEL),
    clock: systemClock,
    random: Math.random,
    id: holderId(hostname(), process.pid, Math.random),
    version: packageJson.version,
  })
})
