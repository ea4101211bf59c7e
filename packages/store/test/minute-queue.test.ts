import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, foldDays, KimchiError } from '@kimchi/core'
import { createManualClock } from '@kimchi/core/testing'
import { createMemoryLog, eventually } from '@kimchi/testkit'
import t from 'tap'
import { type MinuteQueueOptions, openMinuteQueue } from '../src/minute-queue.ts'
import type { WriteResult } from '../src/writer.ts'
import { BTC, openStore, sampleOf, todayMinutes } from './fixtures.ts'

/** Real time, ten times as fast. */
const clock: Clock = {
  now: () => Date.now(),
  wait: (ms, signal) => sleep(ms / 10, undefined, signal ? { signal } : {}).catch(() => {}),
}
const ONE_STORED: WriteResult = {
  stored: 1,
  duplicates: 0,
  refused: [],
  settled: 0,
  removed: 0,
  primary: 'a',
}

function openQueue(writer: MinuteQueueOptions['writer'], options: Partial<MinuteQueueOptions> = {}) {
  const log = createMemoryLog()
  const fatal: KimchiError[] = []
  const queue = openMinuteQueue({
    writer,
    redis: { onStatus: () => () => {} },
    clock,
    onFatal: error => fatal.push(error),
    random: Math.random,
    log,
    ...options,
  })
  return { queue, log, fatal }
}

t.test('minutes wait while Redis is down and are written oldest first, none lost', async t => {
  const { redis, connection, writer, reader } = await openStore(t, { appendonly: true })
  const { today } = await todayMinutes(connection)
  await writer.track([BTC])
  const written: number[] = []
  const { queue, log } = openQueue(writer, { onWritten: batch => written.push(batch.minute) })
  const minutes = Array.from({ length: 30 }, (_, at) => today + at)
  await redis.stop()
  for (const minute of minutes) queue.enqueue({ minute, samples: [sampleOf('BTC', minute)] })
  while (queue.status().totals.retries === 0) await sleep(5)
  t.equal(queue.status().waiting, 30)
  t.match(queue.status().problem, /^redis:\/\/127\.0\.0\.1:\d+: /)
  t.equal(queue.status().lastWrittenMinute, undefined)
  await redis.restart()
  t.ok(await queue.flush(100_000))
  t.strictSame(written, minutes)
  t.equal(queue.status().lastWrittenMinute, minutes.at(-1))
  t.equal(queue.status().problem, undefined)
  t.match(log.lines[0], { message: /^writing fails/, fields: { waiting: Number, reason: /^redis:/ } })
  t.match(log.lines.at(-1), { message: 'writing works again', fields: { waiting: 29 } })
  t.strictSame(
    (await reader.readDays('BTC')).entries,
    foldDays(minutes.map(minute => sampleOf('BTC', minute))),
  )
})

t.test('a write to a frozen Redis times out, is made again, and counts once', async t => {
  const { redis, connection, writer, reader } = await openStore(t)
  const { today } = await todayMinutes(connection)
  await writer.track([BTC])
  const { queue } = openQueue(writer)
  redis.pause()
  queue.enqueue({ minute: today, samples: [sampleOf('BTC', today)] })
  while (queue.status().totals.retries === 0) await sleep(5)
  t.match(queue.status().problem, /timed out/)
  redis.resume()
  t.ok(await queue.flush(100_000))
  const { stored, duplicates } = queue.status().totals
  t.equal(stored + duplicates, 1, 'the last attempt found it stored or stored it')
  t.strictSame((await reader.readDays('BTC')).entries, foldDays([sampleOf('BTC', today)]))
})

t.test('what Redis had not synced before SIGKILL may go, what is queued arrives', async t => {
  const { redis, connection, writer, reader } = await openStore(t, {
    appendonly: true,
    args: ['--appendfsync', 'always'],
  })
  const { today } = await todayMinutes(connection)
  await writer.track([BTC])
  const { queue } = openQueue(writer)
  const minutes = Array.from({ length: 200 }, (_, at) => today + at)
  for (const minute of minutes) queue.enqueue({ minute, samples: [sampleOf('BTC', minute)] })
  while (queue.status().waiting > 150) await sleep(1)
  await redis.kill()
  await redis.restart()
  t.ok(await queue.flush(100_000))
  t.strictSame(
    (await reader.readDays('BTC')).entries,
    foldDays(minutes.map(minute => sampleOf('BTC', minute))),
  )
})

t.test('a full Redis, a demoted primary and missing replicas are waited out', async t => {
  const { connection, writer, reader, raw } = await openStore(t)
  const { today } = await todayMinutes(connection)
  await writer.track([BTC])
  const { queue } = openQueue(writer)
  const troubles: [enter: string[], leave: string[], reason: RegExp][] = [
    [['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0'], /OOM/],
    [['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE'], /READONLY|MASTERDOWN/],
    [
      ['CONFIG', 'SET', 'min-replicas-to-write', '1'],
      ['CONFIG', 'SET', 'min-replicas-to-write', '0'],
      /NOREPLICAS/,
    ],
  ]
  for (const [index, [enter, leave, reason]] of troubles.entries()) {
    const [command = '', ...args] = enter
    await raw.call(command, args)
    const seen = queue.status().totals.retries
    queue.enqueue({ minute: today + index, samples: [sampleOf('BTC', today + index)] })
    while (queue.status().totals.retries === seen) await sleep(5)
    t.match(queue.status().problem, reason)
    const [undo = '', ...undoArgs] = leave
    await raw.call(undo, undoArgs)
    t.ok(await queue.flush(100_000))
  }
  t.equal((await reader.readDays('BTC')).entries[0]?.samples, 3)
})

t.test('a full queue drops its oldest minute, but never the one being written', async t => {
  let release = () => {}
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  const written: number[] = []
  const { queue, log } = openQueue(
    {
      write: async batch => {
        await held
        written.push(batch.minute)
        return ONE_STORED
      },
    },
    { capacity: 3 },
  )
  for (const minute of [1, 2, 3, 4, 5]) queue.enqueue({ minute, samples: [] })
  t.equal(queue.status().waiting, 3)
  t.equal(queue.status().totals.dropped, 2)
  release()
  t.ok(await queue.flush(1_000))
  t.strictSame(written, [1, 4, 5])
  t.match(log.lines, [
    { message: /^queue is full/, fields: { minute: 2 } },
    { message: /^queue is full/, fields: { minute: 3 } },
  ])
})

t.test('prices of the wrong kind stop the queue and say so once', async t => {
  const { connection, writer } = await openStore(t, { prices: 'simulated' })
  const { now } = await todayMinutes(connection)
  await writer.track([BTC])
  await connection.call('HSET', '{kp}:meta', 'prices', 'live')
  const { queue, fatal } = openQueue(writer)
  queue.enqueue({ minute: now, samples: [sampleOf('BTC', now)] })
  t.notOk(await queue.flush(100_000))
  t.strictSame(
    fatal.map(error => error.code),
    ['KIMCHI_ERR_PRICES_KIND'],
  )
  queue.enqueue({ minute: now + 1, samples: [] })
  t.equal(queue.status().totals.dropped, 1)
})

t.test('a batch that cannot be encoded is taken out and counted; the next ones are written', async t => {
  const { connection, writer } = await openStore(t)
  const { now } = await todayMinutes(connection)
  const { queue, log } = openQueue(writer)
  queue.enqueue({ minute: now, samples: [{ ...sampleOf('BTC', now), usdtKrw: 0 }] })
  queue.enqueue({ minute: now + 1, samples: [sampleOf('BTC', now + 1)] })
  t.ok(await queue.flush(100_000))
  t.match(queue.status().totals, { rejected: 1, stored: 1 })
  t.match(log.lines, [
    {
      message: /cannot be written/,
      fields: { minute: now, err: { message: 'usdtKrw must be a price, got: 0' } },
    },
  ])
})

t.test('a coin whose key is damaged is named until it is stored again, and holds up no other', async t => {
  const { connection, writer, raw } = await openStore(t)
  const { today } = await todayMinutes(connection)
  await writer.track([BTC])
  const { queue } = openQueue(writer)
  const samplesAt = (minute: number) => ['BTC', 'ETH'].map(symbol => sampleOf(symbol, minute))
  await raw.set('{kp}:daily:ETH', 'not ours')
  queue.enqueue({ minute: today, samples: samplesAt(today) })
  t.ok(await queue.flush(100_000))
  queue.enqueue({ minute: today + 1, samples: [sampleOf('BTC', today + 1)] })
  t.ok(await queue.flush(100_000))
  t.match(queue.status(), { damaged: ['ETH'], problem: undefined, totals: { stored: 2, refused: 1 } })
  await raw.del('{kp}:daily:ETH')
  queue.enqueue({ minute: today + 2, samples: samplesAt(today + 2) })
  t.ok(await queue.flush(100_000))
  t.match(queue.status(), { damaged: [], totals: { stored: 4 } })
})

t.test('retries are spread by the given randomness and grow to five seconds', async t => {
  const waits: number[] = []
  let failures = 8
  const { queue } = openQueue(
    {
      write: async () => {
        if (failures-- > 0) throw new KimchiError('KIMCHI_ERR_REDIS', 'away')
        return ONE_STORED
      },
    },
    {
      random: () => 0.5,
      clock: {
        now: () => 0,
        wait: async ms => {
          waits.push(ms)
        },
      },
    },
  )
  queue.enqueue({ minute: 1, samples: [] })
  while (queue.status().waiting > 0) await sleep(1)
  t.strictSame(waits, [150, 300, 600, 1_200, 2_400, 3_750, 3_750, 3_750])
})

t.test('a flush gives up at its limit, and a closed queue writes nothing more', async t => {
  const { queue } = openQueue({
    write: async () => {
      throw new KimchiError('KIMCHI_ERR_REDIS', 'away')
    },
  })
  queue.enqueue({ minute: 1, samples: [] })
  t.notOk(await queue.flush(500))
  queue.close()
  queue.enqueue({ minute: 2, samples: [] })
  t.equal(queue.status().waiting, 1)
  t.equal(queue.status().totals.dropped, 1)
})

/** A queue over a writer that notes what it is given, and a connection that a test turns. */
function openWatched(primary = () => 'a') {
  const clock = createManualClock(0)
  const sent: number[] = []
  const confirmed: number[] = []
  let ready: () => void = () => {}
  const { queue } = openQueue(
    {
      write: async batch => {
        sent.push(batch.minute)
        return { ...ONE_STORED, primary: primary() }
      },
    },
    {
      clock,
      onWritten: batch => confirmed.push(batch.minute),
      redis: {
        onStatus: listener => {
          ready = () => listener({ ready: true, reason: undefined })
          return () => {}
        },
      },
    },
  )
  const enqueue = async (minute: number) => {
    queue.enqueue({ minute, samples: [] })
    await eventually('it is confirmed', () => queue.status().waiting === 0)
  }
  return { queue, clock, sent, confirmed, reconnect: () => ready(), enqueue }
}

t.test('after a reconnect the minutes of the last ten minutes are sent again, oldest first', async t => {
  const { queue, clock, sent, confirmed, reconnect, enqueue } = openWatched()
  reconnect()
  for (const minute of [1, 2, 3]) {
    await enqueue(minute)
    await clock.advance(240_000)
  }
  sent.length = 0
  reconnect()
  t.equal(queue.status().waiting, 2, 'minute 1 was confirmed twelve minutes ago')
  await enqueue(4)
  t.strictSame(sent, [2, 3, 4])
  t.strictSame(confirmed, [1, 2, 3, 4], 'nobody is told twice')
  t.match(queue.status().totals, { stored: 4, resent: 2, recovered: 2 })
  sent.length = 0
  reconnect()
  await enqueue(5)
  t.strictSame(sent, [2, 3, 4, 5], 'and again: another primary may have taken over')
})

t.test('when another primary answers, the confirmed minutes are sent to it', async t => {
  let primary = 'a'
  const { sent, enqueue } = openWatched(() => primary)
  await enqueue(1)
  await enqueue(2)
  t.strictSame(sent, [1, 2])
  primary = 'b'
  await enqueue(3)
  t.strictSame(sent, [1, 2, 3, 1, 2], 'each once')
})

t.test('minutes to be sent again do not overtake the one being written', async t => {
  const gates: (() => void)[] = []
  const sent: number[] = []
  let ready: () => void = () => {}
  const { queue } = openQueue(
    {
      write: batch => {
        sent.push(batch.minute)
        return new Promise(resolve => gates.push(() => resolve(ONE_STORED)))
      },
    },
    {
      redis: {
        onStatus: listener => {
          ready = () => listener({ ready: true, reason: undefined })
          return () => {}
        },
      },
    },
  )
  const answer = async () => {
    const gate = await eventually('a write', () => gates.shift())
    gate()
  }
  queue.enqueue({ minute: 1, samples: [] })
  await answer()
  await eventually('it is confirmed', () => queue.status().waiting === 0)
  queue.enqueue({ minute: 2, samples: [] })
  queue.enqueue({ minute: 3, samples: [] })
  await eventually('it is being written', () => sent.length === 2)
  ready()
  for (let writes = 0; writes < 3; writes++) await answer()
  await eventually('all is written', () => queue.status().waiting === 0)
  t.strictSame(sent, [1, 2, 1, 3])
})
