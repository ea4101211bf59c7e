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

/** @returns {Promise<string>} the status, or the error's code */
const ask = () =>
  new Promise(resolve => {
    get(url, { agent: false, timeout: 10_000 }, response => {
      response.resume().on('end', () => resolve(String(response.statusCode)))
      response.on('error', error => resolve(error.message))
    })
      .on('timeout', function () {
        this.destroy(new Error('no answer within 10 s'))
      })
      .on('error', error => resolve(error.message))
  })

const timer = setInterval(() => {
  running.push(ask().then(result => void counts.set(result, (counts.get(result) ?? 0) + 1)))
}, 50)
const [code] = await once(spawn(command, args, { stdio: 'inherit' }), 'exit')
clearInterval(timer)
await Promise.all(running)
process.stdout.write(`${running.length} requests: ${JSON.stringify(Object.fromEntries(counts))}\n`)
process.exitCode = code === 0 && counts.get('200') === running.length ? 0 : 1
