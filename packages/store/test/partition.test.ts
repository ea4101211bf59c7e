import { execFileSync, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { foldDays } from '@kimchi/core'
import { projectRedis } from '@kimchi/local-redis'
import { createFolder, eventually, followProgram } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { turnOf } from './fixtures.ts'

const HOST = fileURLToPath(new URL('fixtures/partition-host.ts', import.meta.url))
const STRIP_TYPES = import.meta.resolve('@kimchi/testkit/strip-types')
const MINORITY = '198.18.0.1'
const MAJORITY = '198.18.0.2'

/** A minute of the service passes in this time, so the partition lasts 30 of its minutes. */
const TURN_MS = 500
const CUT_FOR_MS = 15_000

interface Line {
  readonly at: number
  readonly minute?: number
  readonly newest?: number
  readonly end?: number
}

/** Two hosts in network namespaces, joined by a link that can be cut. */
function openHosts(t: Test) {
  const ip = (...args: string[]) => execFileSync('ip', args, { stdio: 'pipe' })
  const name = (side: string) => `kp-${process.pid}-${side}`
  for (const side of ['a', 'b']) {
    ip('netns', 'add', name(side))
    t.teardown(() => ip('netns', 'del', name(side)))
  }
  ip('-n', name('a'), 'link', 'add', 'veth', 'type', 'veth', 'peer', 'name', 'veth', 'netns', name('b'))
  const host = (side: string, address: string) => {
    ip('-n', name(side), 'address', 'add', `${address}/24`, 'dev', 'veth')
    for (const link of ['lo', 'veth']) ip('-n', name(side), 'link', 'set', link, 'up')
    const run = (...command: string[]) => {
      const child = spawn('ip', ['netns', 'exec', name(side), ...command], { stdio: 'pipe' })
      const program = followProgram(child, command.join(' '))
      t.teardown(() => program.end('SIGKILL'))
      return program
    }
    return {
      address,
      run,
      link: (state: 'up' | 'down') => ip('-n', name(side), 'link', 'set', 'veth', state),
    }
  }
  return { minority: host('a', MINORITY), majority: host('b', MAJORITY) }
}

type Host = ReturnType<typeof openHosts>['minority']

/** A primary and a Sentinel on one host; two replicas and two Sentinels on the other. Returns the REDIS_URL. */
async function startRedisOn(t: Test, minority: Host, majority: Host): Promise<string> {
  const { server, cli = 'redis-cli' } = await projectRedis()
  const common = ['--protected-mode', 'no', '--save', '', '--repl-diskless-sync-delay', '0']
  const startServer = async (host: Host, port: string, ...more: string[]) => {
    const dir = await createFolder(t)
    host.run(server, '--port', port, '--dir', dir, ...common, ...more)
  }
  const startSentinel = async (host: Host, port: string) => {
    const file = join(await createFolder(t), 'sentinel.conf')
    const lines = ['down-after-milliseconds kp 1000', 'failover-timeout kp 1500']
    const own = [`port ${port}`, 'protected-mode no', `sentinel monitor kp ${MINORITY} 6379 2`]
    await writeFile(file, [...own, ...lines.map(line => `sentinel ${line}`)].join('\n'))
    host.run(server, file, '--sentinel')
  }
  const says = async (host: Host, command: string, pattern: RegExp) => {
    const asked = host.run(cli, ...command.split(' '))
    await asked.ended
    return pattern.test(asked.lines.join('\n'))
  }
  await startServer(minority, '6379')
  await startServer(majority, '6379', '--replicaof', MINORITY, '6379')
  await startServer(majority, '6380', '--replicaof', MINORITY, '6379')
  await eventually('both replicas follow', () => says(minority, 'INFO replication', /connected_slaves:2/))
  for (const [host, port] of [
    [minority, '5000'],
    [majority, '5000'],
    [majority, '5001'],
  ] as const) {
    await startSentinel(host, port)
    const eager = 'SENTINEL DEBUG info-period 200 ping-period 300 ask-period 100 publish-period 100'
    await eventually('the Sentinel answers', () => says(host, `-p ${port} ${eager}`, /OK/))
    const known = /num-slaves\n2\n.*num-other-sentinels\n2/s
    if (port === '5001')
      await eventually('all know each other', () => says(host, `-p ${port} SENTINEL MASTER kp`, known))
  }
  return `redis+sentinel://${MINORITY}:5000,${MAJORITY}:5000,${MAJORITY}:5001/kp`
}

/** An ingester and a reader on a host, and what they print. */
function startHost(host: Host, url: string, symbol: string, first: number) {
  const args = [`--import=${STRIP_TYPES}`, HOST, url, symbol, String(first), String(TURN_MS)]
  const program = host.run(process.execPath, ...args)
  const lines = (): Line[] => program.lines.filter(line => line.startsWith('{')).map(line => JSON.parse(line))
  return {
    lines,
    turnsTo: (minute: number) =>
      eventually(`minute ${minute}`, () => lines().some(line => line.minute === minute)),
    async end() {
      program.child.stdin?.write('end\n')
      await program.ended
      return lines().at(-1)
    },
  }
}

/** For how long a reader saw an older list after a newer one, in milliseconds. */
function longestStepBack(lines: readonly Line[]): number {
  let [newest, since, longest] = [0, 0, 0]
  for (const { at, newest: read } of lines) {
    if (read === undefined) continue
    if (read >= newest) [newest, since] = [read, 0]
    else {
      since ||= at
      longest = Math.max(longest, at - since)
    }
  }
  return longest
}

const skip = process.getuid?.() === 0 && succeeds('ip', 'netns') ? false : 'needs root and ip'

// docs/faults.md, 109
t.test(
  'a primary that is cut off with one ingester confirms minutes that it loses: each is stored once',
  { skip },
  async t => {
    const { minority, majority } = openHosts(t)
    const url = await startRedisOn(t, minority, majority)
    const first = Math.floor(Date.now() / 86_400_000) * 1_440 - 1_440
    const a = startHost(minority, url, 'BTC', first)
    const b = startHost(majority, url, 'ETH', first)
    await Promise.all([a.turnsTo(first + 10), b.turnsTo(first + 10)])

    const cutAt = Date.now()
    minority.link('down')
    await delay(CUT_FOR_MS)
    const meanwhile = b.lines().filter(({ at }) => at >= cutAt && at < cutAt + CUT_FOR_MS)
    const newest = Math.max(...meanwhile.map(({ newest = 0 }) => newest))
    t.ok(newest > first + 20, 'the list of the majority went on')

    minority.link('up')
    const last = first + 10 + (CUT_FOR_MS + 5_000) / TURN_MS
    await Promise.all([a.turnsTo(last), b.turnsTo(last)])
    for (const [symbol, host] of [
      ['BTC', a],
      ['ETH', b],
    ] as const) {
      const end = (await host.end()) as Line & { end: number; recovered: number }
      const samples = Array.from({ length: end.end - first }, (_, index) => turnOf(symbol, first + index))
      t.match(end, { open: [], days: foldDays(samples) }, `${symbol} has every minute once`)
      t.comment(`${symbol}: ${samples.length} minutes, ${end.recovered} of them by sending them again`)
      if (symbol === 'BTC') t.ok(end.recovered > 10, 'what the primary lost came back')
    }
    const stepBackMs = longestStepBack(b.lines())
    t.comment(`the majority's reader saw an older list after a newer one for ${stepBackMs} ms`)
    t.ok(stepBackMs <= 5_000)
  },
)

function succeeds(command: string, ...args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'pipe' })
    return true
  } catch {
    return false
  }
}
