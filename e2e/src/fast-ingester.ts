import { startIngester } from '@kimchi/ingester'
import { readConfig } from '@kimchi/ingester/config'
import { createLogger, runApp } from '@kimchi/runtime'
import { createFastClock } from './fast-clock.ts'

// The real ingester on the test bed's accelerated clock.
const { FAST_CLOCK = '', INGESTER_ID: id = '' } = process.env
await runApp(() => {
  const config = readConfig(process.env)
  const log = createLogger('ingester', config.LOG_LEVEL)
  const clock = createFastClock(...(JSON.parse(FAST_CLOCK) as Parameters<typeof createFastClock>))
  return startIngester(config, { log, clock, random: Math.random, id, version: 'e2e' })
})
