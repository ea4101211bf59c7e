#!/usr/bin/env node
/**
 * The commands that people type: builds what is stale, then runs the built code. Plain JavaScript, because
 * nothing is built yet. A signal ends the build too, so that no compiler is left behind. Everything here must
 * run on old Nodes, so that they can name the Node that is needed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** A build that has nothing to do ends sooner, and is not mentioned. */
const MENTION_AFTER_MS = 2_000

/** The built code of each command, by the first argument; the program gets the others. */
const PROGRAMS = {
  demo: './dist/main.js',
  live: './dist/main.js',
  doctor: '../ingester/dist/doctor/main.js',
  backfill: '../ingester/dist/backfill/import-main.js',
}

checkNode()
const turbo = join(ROOT, 'node_modules/.bin/turbo')
if (!existsSync(turbo)) fail('Dependencies are not installed; run: npm ci')
await build()
await import(takeProgram())

function checkNode() {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const needed = engines.node.replace(/[^\d.]/g, '')
  const [major, minor] = process.versions.node.split('.').map(Number)
  const [neededMajor, neededMinor] = needed.split('.').map(Number)
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return
  fail(`Node ${needed} or newer is needed, and this is Node ${process.versions.node}: see https://nodejs.org`)
}

/** Takes the command's name off the arguments, except for the program that tells demo from live by it. */
function takeProgram() {
  const name = process.argv[2] ?? ''
  const program = PROGRAMS[name]
  if (program !== PROGRAMS.live) process.argv.splice(2, 1)
  process.setSourceMapsEnabled(true)
  return program
}

async function build() {
  const mention = setTimeout(() => console.log('Building …'), MENTION_AFTER_MS)
  const parts = ['--filter=./apps/*', '--filter=./packages/*', '--output-logs=errors-only']
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: '1' }
  const child = spawn(turbo, ['run', 'build', ...parts], { cwd: ROOT, env, detached: true })
  const end = () => {
    if (child.pid) process.kill(-child.pid, 'SIGTERM')
    process.exit(0)
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
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
