import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Builds whatever is stale, quietly unless it fails.
 * @param {string} root
 * @param {{ say: (line: string) => void, signal: AbortSignal }} options
 */
export async function build(root, { say, signal }) {
  const turbo = join(root, 'node_modules', '.bin', 'turbo')
  if (!existsSync(turbo)) throw new Error('dependencies are not installed; run: npm ci')
  say('Building what is stale …')
  const child = spawn(
    turbo,
    ['run', 'build', '--filter=./apps/*', '--filter=./packages/*', '--output-logs=errors-only'],
    {
      cwd: root,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1' },
    },
  )
  const end = () => child.pid && process.kill(-child.pid, 'SIGTERM')
  signal.addEventListener('abort', end, { once: true })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      output += chunk
    })
  }
  const [code] = await once(child, 'close')
  signal.removeEventListener('abort', end)
  signal.throwIfAborted()
  if (code !== 0) throw new Error(`the build failed:\n${output}`)
}
