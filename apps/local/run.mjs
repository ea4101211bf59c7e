#!/usr/bin/env node
/**
 * `npm run demo` and `npm start`: builds what is stale, then hands over to the built code. Plain JavaScript,
 * because nothing is built yet; it ends the build with itself, so that no signal leaves a compiler behind.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const turbo = join(ROOT, 'node_modules/.bin/turbo')

if (!existsSync(turbo)) fail('Dependencies are not installed; run: npm ci')
await build()
await import('./dist/main.js')

async function build() {
  console.log('Building what is stale …')
  const child = spawn(
    turbo,
    ['run', 'build', '--filter=./apps/*', '--filter=./packages/*', '--output-logs=errors-only'],
    {
      cwd: ROOT,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1' },
    },
  )
  const end = () => {
    if (child.pid) process.kill(-child.pid, 'SIGTERM')
    process.exit(0)
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  for (const signal of signals) process.once(signal, end)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      output += chunk
    })
  }
  const [code] = await once(child, 'close')
  for (const signal of signals) process.off(signal, end)
  if (code !== 0) fail(`The build failed:\n${output}`)
}

/** @param {string} message @returns {never} */
function fail(message) {
  console.error(message)
  process.exit(1)
}
