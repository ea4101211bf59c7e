import { createLogger, runApp, systemClock, withSecretFile } from '@kimchi/runtime'
import packageJson from '../package.json' with { type: 'json' }
import { readConfig } from './config.ts'
import { startApi } from './start.ts'

await runApp(async () => {
  const config = readConfig(withSecretFile(process.env))
  return startApi(config, {
    log: createLogger('api', config.LOG_LEVEL),
    clock: systemClock,
    version: packageJson.version,
  })
})
