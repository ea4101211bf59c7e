import { createServer, type Socket } from 'node:net'
import { eventually, listen, startRedis } from '@kimchi/testkit'
import t, { type Test } from 'tap'
import { openRedis } from '../src/redis/connect.ts'

/** A Sentinel that announces a failover at the worst moment: while it is asked for the primary again. */
async function startRacingSentinel(t: Test, primaryPort: number) {
  const subscribers = new Set<Socket>()
  let asked = 0
  const answer = (socket: Socket, command: string) => {
    if (command.includes('subscribe')) {
      subscribers.add(socket)
      socket.write('*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n')
    } else if (command.includes('get-master-addr-by-name')) {
      asked += 1
      const port = String(primaryPort)
      const address = `*2\r\n$9\r\n127.0.0.1\r\n$${port.length}\r\n${port}\r\n`
      if (asked !== 2) return void socket.write(address)
      for (const subscriber of subscribers) {
        subscriber.write('*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$2\r\nkp\r\n')
      }
      setTimeout(() => socket.write(address), 100)
    } else {
      socket.write('*0\r\n')
    }
  }
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', data => {
      for (const [command] of String(data)
        .toLowerCase()
        .matchAll(/\*\d+\r\n(?:\$\d+\r\n[^\r]*\r\n)*/g)) {
        answer(socket, command)
      }
    })
  })
  return { port: await listen(t, server), asked: () => asked, subscribers }
}

t.test(
  'a failover that is announced while the client asks for the primary does not end the connection',
  async t => {
    const redis = await startRedis(t)
    const sentinel = await startRacingSentinel(t, redis.port)
    const connection = openRedis(`redis+sentinel://127.0.0.1:${sentinel.port}/kp`)
    t.teardown(() => connection.close())
    t.ok(await connection.untilReady(60_000))
    await eventually('the client listens for failovers', () => sentinel.subscribers.size > 0)
    await redis.client().call('CLIENT', 'KILL', 'TYPE', 'normal')
    await eventually('the client asked for the primary again', () => sentinel.asked() >= 2)
    await eventually('the connection is ready again', () => sentinel.asked() > 2 && !connection.problem())
    t.equal(await connection.call('PING'), 'PONG')
  },
)
