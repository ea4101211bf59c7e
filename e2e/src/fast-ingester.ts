import { startIngester } from '@kimchi/ingester'
import { readConfig } from '@kimchi/ingester/config'
import { createLogger, runApp } from '@kimchi/runtime'
import { clockFrom } from './fast-clock.ts'

// The ingester itself, whole; only its clock is that of a bed that turns faster.
const { FAST_CLOCK: clock = '', INGESTER_ID: id = '' } = process.env
await runApp(() => {
  const config = readConfig(process.env)
  const log = createLogger('ingester', config.LOG_LEVEL)
  return startIngester(config, { log, clock: clockFrom(clock), random: Math.random, id, version: 'e2e' })
})
