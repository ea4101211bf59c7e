import { once } from 'node:events'
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import { startPageServer } from '../src/page-server.ts'
import { Ports } from '../src/ports.ts'

async function takenPort(t: Test): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return (server.address() as { port: number }).port
}

t.test('taken defaults are replaced, and one line names them', async t => {
  const ports = new Ports()
  t.equal(ports.note(), undefined)
  const taken = [await takenPort(t), await takenPort(t)] as const
  const picked = [await ports.pick('PORT', taken[0]), await ports.pick('PAGE_PORT', taken[1])]
  t.notOk(picked.some(port => taken.includes(port)))
  t.equal(ports.note(), `Taken by other programs, so a free port is used instead: ${taken.join(', ')}.`)
})

t.test('a port that was asked for is never replaced', async t => {
  const port = await takenPort(t)
  await t.rejects(new Ports().pick('PORT', 3_000, port), {
    code: 'KIMCHI_ERR_CONFIG',
    message: `PORT=${port} is taken; end what listens there or choose another`,
  })
  t.not(await new Ports().pick('PORT', port, 0), port)
})

t.test('a port that another stack takes after it was picked is replaced by a free one', async t => {
  const taken = await takenPort(t)
  class LatePorts extends Ports {
    picks = 0
    override async pick() {
      this.picks += 1
      return this.picks === 1 ? taken : super.pick('PAGE_PORT', taken)
    }
  }
  const page = await new LatePorts().start('PAGE_PORT', taken, port =>
    startPageServer(t.testdir({}), '', port, '127.0.0.1'),
  )
  t.teardown(() => page.close())
  t.not(new URL(page.url).port, String(taken))
})

t.test('a server that fails for another reason is not started again', async t => {
  let starts = 0
  const fail = () => {
    starts += 1
    return Promise.reject(new Error('no'))
  }
  await t.rejects(new Ports().start('Redis', 0, fail, 0), { message: 'no' })
  t.equal(starts, 1)
})
