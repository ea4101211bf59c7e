import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { createLogger, runApp, systemClock, waitForFarAddresses, withSecretFile } from '@kimchi/runtime'
import packageJson from '../package.json' with { type: 'json' }
import { readConfig } from './config.ts'
import { startIngester } from './start.ts'

waitForFarAddresses()
await runApp(() => {
  const config = readConfig(withSecretFile(process.env))
  return startIngester(config, {
    log: createLogger('ingester', config.LOG_LEVEL),
    clock: systemClock,
    random: Math.random,
    // Containers on their host's network share its name, and often the process id 1.
    id: `${hostname()}:${process.pid}:${randomBytes(2).toString('hex')}`,
    version: packageJson.version,
  })
})
