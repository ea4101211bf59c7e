import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { listen } from '@kimchi/testkit'
import t, { type Test } from 'tap'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const WORKFLOWS = join(ROOT, '.github/workflows')

/** A server of one path, which answers with these statuses in turn, then with 200. */
async function openList(t: Test, ...statuses: readonly number[]): Promise<string> {
  const left = [...statuses]
  const server = createServer((_, response) =>
    response.writeHead(left.shift() ?? 200).end('{"symbol":"BTC"}'),
  )
  return `http://127.0.0.1:${await listen(t, server)}`
}

t.test('load.mjs fails when a single request failed, or the command', async t => {
  const load = join(ROOT, 'deploy/load.mjs')
  const underLoad = async (url: string, command: string) => run(load, [url, 'sh', '-c', command])
  t.match((await underLoad(await openList(t), 'sleep 1')).stdout, /^\d+ requests: \{"200":\d+\}$/m)
  await t.rejects(underLoad(await openList(t, 200, 503), 'sleep 1'), { message: /Command failed/ })
  await t.rejects(underLoad(await openList(t), 'sleep 0.2; exit 3'))
})

t.test('each action of a workflow is named by its commit', async t => {
  for (const name of await readdir(WORKFLOWS)) {
    const text = await readFile(join(WORKFLOWS, name), 'utf8')
    for (const [, action] of text.matchAll(/uses: (\S+)/g)) t.match(action, /@[0-9a-f]{40}$/)
  }
})
