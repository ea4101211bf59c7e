#!/usr/bin/env node
// Asks an address 20 times a second, each time by a connection of its own, for as long as a command runs:
// load.mjs URL COMMAND…; fails when a request or the command did.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { get } from 'node:http'

const [url = '', command = '', ...args] = process.argv.slice(2)
/** @type {Map<string, number>} */
const counts = new Map()
/** @type {Promise<void>[]} */
const running = []

/** The status of an answer that is whole within 10 s. */
const ask = async () => {
  const asking = get(url, { agent: false, signal: AbortSignal.timeout(10_000) })
  const [response] = await once(asking, 'response')
  // From here on the response reports errors too.
  asking.on('error', () => {})
  await response.toArray()
  return String(response.statusCode)
}

const askAndCount = async () => {
  const result = await ask().catch(String)
  counts.set(result, (counts.get(result) ?? 0) + 1)
}

const timer = setInterval(() => running.push(askAndCount()), 50)
const [code] = await once(spawn(command, args, { stdio: 'inherit' }), 'exit')
clearInterval(timer)
await Promise.all(running)
process.stdout.write(`${running.length} requests: ${JSON.stringify(Object.fromEntries(counts))}\n`)
process.exitCode = code === 0 && counts.get('200') === running.length ? 0 : 1
