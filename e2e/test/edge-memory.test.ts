import { execFileSync } from 'node:child_process'
import { readdir, readFile, statfs, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { minuteOf, minuteStart } from '@kimchi/core'
import { ask, createFolder, listen, type Teardown } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { lacksNginx, openEdge } from '../src/edge.ts'
import { LIVE, metricsOf } from './support/edge-stack.ts'

/** Bytes that the edge may write, in this test: a seventh of what it is asked for. */
const ROOM = 25_000_000
/** As a plain history of 700 days. */
const BODY = 'x'.repeat(88_000)

const lacksMount = process.getuid?.() === 0 ? lacksNginx : 'only root can mount a small disk'

t.test('an edge with a small disk', { skip: lacksMount }, async t => {
  const { edge, kept } = await openSmallEdge(t)

  await t.test('10 clients that ask for 2,000 histories in spans of their own get them whole', async t => {
    await askForAll(t, edge.port, n => `${LIVE}/C${n % 200}/daily?days=${700 + Math.floor(n / 10)}`)
    t.strictSame(await kept(), [], 'and none is kept')
  })

  await t.test('so do those who spell 300 symbols in many ways, or misspell them', async t => {
    const spellings = ['daily?days=0365', 'daily?d%61ys=7', 'daily?days=7&days=7']
    await askForAll(t, edge.port, n => `${LIVE}/c${n % 300}/${spellings[n % 3]}`)
    await askForAll(t, edge.port, n => `${LIVE}/NONE${n}/daily`, 404)
    t.strictSame(await kept(), [])
  })

  await t.test('when its disk is full all the same, it says so, and names no client', async t => {
    t.match(await metricsOf(edge), /^kimchi_edge_writable 1$/m)
    const { bavail, bsize } = await statfs(edge.dir)
    await writeFile(join(edge.dir, 'filler'), Buffer.alloc(bavail * bsize))
    await ask(edge.port, LIVE).catch(() => {})
    t.match(await metricsOf(edge), /^kimchi_edge_writable 0$/m)
    const { status, body } = await ask(edge.port, `${LIVE}/BTC/daily?days=700`)
    t.equal(`${status} ${body.length}`, `200 ${BODY.length}`, 'what is not kept is given whole')
  })

  const log = await readFile(edge.log, 'utf8')
  t.notMatch(log, /client: |127\.1\.0\./, 'nobody is written down')
})

/** An edge on a disk of its own, in front of what stands for a replica. */
async function openSmallEdge(t: Test) {
  const dir = await createFolder(t)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${ROOM}`, 'none', dir])
  t.teardown(() => execFileSync('umount', ['--lazy', dir]))
  const replica = await openReplica(t)
  const edge = await openEdge(t, { addresses: ['127.0.0.1'], dir, perSecond: 100_000, ...replica })
  const kept = async () => {
    const all = await readdir(join(dir, 'cache'), { recursive: true, withFileTypes: true })
    return all.filter(entry => entry.isFile()).map(({ name }) => name)
  }
  return { edge, kept }
}

async function openReplica(t: Teardown) {
  const api = createServer(({ url }, response) => {
    if (!url?.startsWith(LIVE) || url.includes('NONE')) return response.writeHead(404).end('{}')
    const headers = {
      'cache-control': 'public, max-age=60',
      'last-modified': new Date(minuteStart(minuteOf(Date.now()))).toUTCString(),
    }
    return response.writeHead(200, headers).end(BODY)
  })
  return { apiPort: await listen(t, api) }
}

/** Ten clients ask for 2,000 addresses. */
async function askForAll(t: Test, port: number, pathOf: (n: number) => string, expected = 200) {
  const seen = new Map<string, number>()
  const runClient = async (client: number) => {
    for (let n = client; n < 2_000; n += 10) {
      const { status, body } = await ask(port, pathOf(n), { localAddress: `127.1.0.${client + 1}` })
      const kind = `${status} ${body.length}`
      seen.set(kind, (seen.get(kind) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: 10 }, (_, client) => runClient(client)))
  t.strictSame([...seen], [[`${expected} ${expected === 200 ? BODY.length : 2}`, 2_000]])
}
