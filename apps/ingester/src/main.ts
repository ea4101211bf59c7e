import { hostname } from 'node:os'
import { systemClock } from '@kimchi/runtime'
import { runIngester } from './run-ingester.ts'

await runIngester({ env: process.env, clock: systemClock, id: `${hostname()}:${process.pid}` })
