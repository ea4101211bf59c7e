import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

// Runs the tests of all workspaces, or of those that turbo's arguments choose, and says last how each file that
// failed runs alone: turbo names workspaces only.
const children = ['packages', 'apps'].flatMap(folder => readdirSync(folder).map(name => join(folder, name)))
const workspaces = [...children, 'e2e', 'deploy']
const listOf = (/** @type {string} */ workspace) => join(workspace, '.tap/failed')
// A workspace that does not run now, or whose result turbo has kept, would be named for what failed earlier.
for (const workspace of workspaces) rmSync(listOf(workspace), { force: true })
const turbo = ['run', 'test', '--concurrency=3', '--continue', ...process.argv.slice(2)]
const { status } = spawnSync('turbo', turbo, { stdio: 'inherit', shell: process.platform === 'win32' })
process.exitCode = status ?? 1

for (const workspace of workspaces) {
  const list = listOf(workspace)
  const files = existsSync(list) ? readFileSync(list, 'utf8').split('\n').filter(Boolean) : []
  for (const file of files) console.error(`failed; alone: (cd ${workspace} && npx run-tests ${file})`)
}
