#!/usr/bin/env node
/**
 * Builds what is stale, then runs the built program that the first argument names, with the other arguments: the
 * commands in package.json start it. Plain JavaScript, because nothing is built yet. A signal ends the build too, so
 * that no compiler is left behind. Everything here must run on old Nodes, so that they can name the Node that is
 * needed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { isatty } from 'node:tty'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** A build that has nothing to do ends sooner, and is not mentioned. */
const MENTION_AFTER_MS = 2_000

// Node undoes what nohup asks for. A terminal that is gone is none any more, so it is asked for at the start.
const hasTerminal = [0, 1, 2].some(fd => isatty(fd))
process.on('SIGHUP', () => hasTerminal && process.kill(process.pid, 'SIGTERM'))
checkNode()
const turbo = join(ROOT, 'node_modules/.bin/turbo')
if (!existsSync(turbo)) fail('Dependencies are not installed; run: npm ci')
await build()
// The program finds its own arguments where Node puts them.
const [program = ''] = process.argv.splice(2, 1)
process.setSourceMapsEnabled(true)
await import(pathToFileURL(join(ROOT, program)).href)

function checkNode() {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const needed = engines.node.replace(/[^\d.]/g, '')
  const { node } = process.versions
  if (node.localeCompare(needed, 'en', { numeric: true }) >= 0) return
  fail(`Node ${needed} or newer is needed, and this is Node ${node}: see https://nodejs.org`)
}

async function build() {
  const mention = setTimeout(() => console.log('Building…'), MENTION_AFTER_MS)
  const parts = ['--filter=./apps/*', '--filter=./packages/*', '--output-logs=errors-only']
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: '1' }
  const child = spawn(turbo, ['run', 'build', ...parts], { cwd: ROOT, env, detached: true })
  const end = () => {
    if (child.pid) process.kill(-child.pid, 'SIGTERM')
    process.exit(0)
  }
  const signals = ['SIGINT', 'SIGTERM']
  for (const signal of signals) process.once(signal, end)
  const output = Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = await once(child, 'close')
  clearTimeout(mention)
  for (const signal of signals) process.off(signal, end)
  if (code !== 0) fail(`The build failed:\n${(await output).join('')}`)
}

/** @param {string} message @returns {never} */
function fail(message) {
  console.error(message)
  process.exit(1)
}
