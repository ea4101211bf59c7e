import { runIngester } from '@kimchi/ingester/dist/run-ingester.js'
import { clockFrom } from './world-clock.ts'

// The ingester itself, whole; only its clock is that of a world that turns faster.
const { WORLD_CLOCK: clock = '', INGESTER_ID: id = '' } = process.env
await runIngester({ env: process.env, clock: clockFrom(clock), id })
