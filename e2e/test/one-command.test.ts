import { execFileSync, spawn } from 'node:child_process'
import { projectRoot } from '@kimchi/local-redis'
import { createFolder, eventually, followProgram, type Program } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { getJson } from '../src/apps.ts'

/** What `npm run demo` runs when it has built everything, and what it runs. */
const BUILT = ['apps/local/dist/main.js', 'demo']
const COMMAND = ['apps/local/run.mjs', ...BUILT]

/** Starts the demo with a data folder of its own. */
function startDemo(t: Test, command: string[], dataDir: string): Program {
  // tap hands its loader to every Node process below it; the build must run as a user's does.
  const child = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, ...command], {
    cwd: projectRoot(),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: dataDir, BACKFILL_DAYS: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const demo = followProgram(child, 'demo')
  t.teardown(() => demo.end('SIGKILL'))
  return demo
}

interface Running {
  readonly pid: number
  readonly parent: number
  readonly command: string
}

function processes(): readonly Running[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).trim().split('\n')
  return lines.map(line => {
    const [pid, parent, ...command] = line.trim().split(/\s+/)
    return { pid: Number(pid), parent: Number(parent), command: command.join(' ') }
  })
}

/** All processes that descend from one. */
function descendants(ancestor: number, all = processes()): number[] {
  const children = all.filter(({ parent }) => parent === ancestor)
  return children.flatMap(({ pid }) => [pid, ...descendants(pid, all)])
}

/** The stack's own child of that name. */
function pidOf(stack: number, name: string): number {
  const wanted = name === 'redis' ? 'redis-server' : `${name}/dist/main.js`
  return Number(processes().find(({ parent, command }) => parent === stack && command.includes(wanted))?.pid)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function allGone(pids: readonly number[]): Promise<void> {
  await eventually('every process is gone', () => !pids.some(isAlive))
}

async function apiOf(demo: Program): Promise<string> {
  const line = await demo.line(text => text.includes('API '))
  return line.replace(/^\s*API\s+/, '')
}

// docs/faults.md, 37
t.test(
  'the demo answers with prices, outlives its processes, ends in order, and goes on where it was',
  async t => {
    const dataDir = await createFolder(t)
    const demo = startDemo(t, COMMAND, dataDir)
    const api = await apiOf(demo)
    await demo.line(text => text.startsWith('First prices'))
    const before = await eventually('every coin', async () => {
      const answer = await getJson<{ updated_at: string; note: string; count: number }>(api)
      return answer?.body.count === 10 && answer
    })
    t.match(before, { status: 200, body: { result: 'ok', count: 10, note: /^SIMULATED PRICES/ } })
    const [address = ''] = demo.lines.filter(line => line.includes('http://'))
    t.match(address, /^ {2}Page {4}http:\/\/127\.0\.0\.1:\d+\/$/, 'the page is the first of the addresses')
    const page = address.replace(/^ *Page +/, '')
    t.match(await (await fetch(page)).text(), '<title>Kimchi premium</title>')
    t.match(await getJson(`${page}api/v1/kimchi-premium`), { status: 200, body: { result: 'ok', count: 10 } })

    const second = startDemo(t, BUILT, dataDir)
    await second.line(text => text.includes('DATA_DIR='))
    t.strictSame(second.lines, [
      `A service runs in ${dataDir} already; its page is ${page}`,
      'Another one needs a folder of its own: DATA_DIR=.data/other npm run demo',
    ])

    for (const name of ['redis', 'simulator', 'ingester', 'api']) {
      process.kill(pidOf(demo.pid, name), 'SIGKILL')
      await demo.line(text => text.startsWith(`${name} ended unexpectedly (SIGKILL)`))
    }
    const restarted = await eventually('the API answers again', () => getJson<{ updated_at: string }>(api))
    t.ok(restarted.body.updated_at >= before.body.updated_at, 'nothing that was written is lost')

    const processes = descendants(demo.pid)
    t.ok(processes.length >= 4, 'Redis, simulator, ingester and API run')
    t.equal(await demo.end('SIGINT'), 0)
    await allGone(processes)

    const again = startDemo(t, BUILT, dataDir)
    const after = await eventually('the same data is served again', () =>
      getJson<{ updated_at: string }>(api),
    )
    t.ok(after.body.updated_at >= restarted.body.updated_at, 'port and data are reusable at once')
    const rest = descendants(again.pid)
    await again.end('SIGKILL')
    await allGone(rest)
  },
)
