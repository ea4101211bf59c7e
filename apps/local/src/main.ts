import { messageOf } from '@kimchi/core'
import { systemClock, waitForFarAddresses } from '@kimchi/runtime'
import { readConfig } from './config.ts'
import { startLocal } from './start.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)
const ending = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ending.abort())

waitForFarAddresses()
try {
  const config = readConfig(process.argv[2], process.env)
  await startLocal(config, { say, signal: ending.signal, clock: systemClock })
  process.exit(0)
} catch (thrown) {
  say(messageOf(thrown))
  process.exit(1)
}
