import { createLogger, runApp, systemClock } from '@kimchi/runtime'
import { readConfig } from './config.ts'
import { startApi } from './start.ts'

await runApp(async () => {
  const config = readConfig(process.env)
  return startApi(config, { log: createLogger('api', config.LOG_LEVEL), clock: systemClock })
})
