import { runIngester } from '@kimchi/ingester/dist/run-ingester.js'
import { clockFrom } from './fast-clock.ts'

// The ingester itself, whole; only its clock is that of a bed that turns faster.
const { FAST_CLOCK: clock = '', INGESTER_ID: id = '' } = process.env
await runIngester({ env: process.env, clock: clockFrom(clock), id })
