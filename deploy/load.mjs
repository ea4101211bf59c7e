#!/usr/bin/env node
// Asks for the list, and for spans of a history that no edge keeps, RATE times a second (20), each time by a connection
// of its own, for as long as a command runs: load.mjs URL-OF-THE-LIST COMMAND…; fails when a request or the command did.
// GAP allows failures within so many seconds.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { get } from 'node:http'

const { GAP = '0', RATE = '20' } = process.env
const CODINGS = ['br', 'gzip', 'identity']
const [url = '', command = '', ...args] = process.argv.slice(2)
/** @type {Map<string, number>} */
const counts = new Map()
/** @type {Promise<void>[]} */
const running = []
/** @type {number[]} When requests that failed began, in seconds. */
const failed = []

/** The status of an answer that is whole within 10 s. */
const ask = async () => {
  const isList = running.length % 2 === 0
  const days = 1 + (running.length % 3_650)
  const asking = get(isList ? url : `${url}/BTC/daily?days=${days}`, {
    agent: false,
    headers: { 'accept-encoding': CODINGS[running.length % CODINGS.length] },
    signal: AbortSignal.timeout(10_000),
  })
  const [response] = await once(asking, 'response')
  // From here on the response reports errors too.
  asking.on('error', () => {})
  await response.toArray()
  return String(response.statusCode)
}

const askAndCount = async () => {
  const startedAt = performance.now() / 1_000
  const result = await ask().catch(String)
  counts.set(result, (counts.get(result) ?? 0) + 1)
  if (result !== '200') failed.push(startedAt)
}

const timer = setInterval(() => running.push(askAndCount()), 1_000 / Number(RATE))
const [code] = await once(spawn(command, args, { stdio: 'inherit' }), 'exit')
clearInterval(timer)
await Promise.all(running)
const span = failed.length === 0 ? 0 : Math.max(...failed) - Math.min(...failed)
const said = `${running.length} requests: ${JSON.stringify(Object.fromEntries(counts))}`
process.stdout.write(failed.length === 0 ? `${said}\n` : `${said}, failures within ${span.toFixed(1)} s\n`)
process.exitCode = code === 0 && (failed.length === 0 || span < Number(GAP)) ? 0 : 1
