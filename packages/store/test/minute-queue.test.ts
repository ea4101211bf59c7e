import { foldDays, KimchiError } from '@kimchi/core'
import { createMemoryLog, passUntil } from '@kimchi/testkit'
import { createManualClock } from '@kimchi/testkit/manual-clock'
import t from 'tap'
import { MinuteQueue, type MinuteQueueOptions, QUEUE_CAPACITY } from '../src/minute-queue.ts'
import type { SampleBatch, WriteResult } from '../src/writer.ts'
import { BTC, openStore, sampleOf } from './fixtures.ts'

const ONE_STORED: WriteResult = {
  stored: 1,
  duplicates: 0,
  refused: [],
  settled: 0,
  primary: 'a',
}

/** A queue on a clock that runs only while {@link passUntil} waits for something. */
function openQueue(writer: MinuteQueueOptions['writer'], options: Partial<MinuteQueueOptions> = {}) {
  const log = createMemoryLog()
  const fatal: KimchiError[] = []
  const clock = createManualClock(0)
  const queue = new MinuteQueue({
    writer,
    clock,
    onFatal: error => fatal.push(error),
    random: () => 0.5,
    log,
    ...options,
  })
  const until = (what: string, isSo: () => boolean) => passUntil(clock, what, isSo)
  const untilWritten = () => until('all is written', () => queue.status().waiting === 0)
  return { queue, log, fatal, clock, until, untilWritten }
}

/** A queue, and what its writer was given. */
function openWatched(primary = () => 'a') {
  const sent: number[] = []
  const stored = new Set<string>()
  let held: Promise<void> | undefined
  const write = async ({ minute }: SampleBatch) => {
    sent.push(minute)
    await held
    const copy = `${minute} of ${primary()}`
    const result = { ...ONE_STORED, primary: primary(), stored: stored.has(copy) ? 0 : 1 }
    stored.add(copy)
    return result
  }
  const opened = openQueue({ write })
  /** Lets Redis answer nothing until what it returns is called. */
  const hold = () => {
    let release = () => {}
    held = new Promise(resolve => {
      release = resolve
    })
    return () => release()
  }
  const enqueue = async (minute: number) => {
    opened.queue.enqueue({ minute, samples: [] })
    await opened.untilWritten()
  }
  return { ...opened, sent, hold, enqueue }
}

// docs/faults.md, 9
t.test(
  'minutes wait while Redis is down or loads its data, and are written oldest first, none lost',
  async t => {
    const { redis, raw, writer, reader, today } = await openStore(t, { appendonly: true, coins: [BTC] })
    const written: number[] = []
    const write: typeof writer.write = async batch => {
      const result = await writer.write(batch)
      written.push(batch.minute)
      return result
    }
    const { queue, log, until, untilWritten } = openQueue({ write })
    const minutes = Array.from({ length: 30 }, (_, at) => today + at)
    await raw.eval("for i = 1, 1000 do redis.call('SET', i, '') end", 0)
    await redis.stop()
    for (const minute of minutes) queue.enqueue({ minute, samples: [sampleOf('BTC', minute)] })
    await until('an attempt has failed', () => queue.status().totals.retries > 0)
    t.equal(queue.status().waiting, 30)
    t.match(queue.status().problem, /^redis:\/\/127\.0\.0\.1:\d+: /)
    t.equal(queue.status().lastWrittenMinute, undefined)
    // Microseconds, for each of the thousand.
    const restarted = redis.restart(['--key-load-delay', '2000'])
    await until('it loads', () => /loading its data/.test(queue.status().problem ?? ''))
    await restarted
    await untilWritten()
    t.strictSame(written, minutes)
    t.equal(queue.status().lastWrittenMinute, minutes.at(-1))
    t.equal(queue.status().problem, undefined)
    t.match(log.lines[0], { message: /^writing fails/, fields: { waiting: Number, reason: /^redis:/ } })
    t.match(log.lines.at(-1), { message: 'writing works again', fields: { waiting: 29 } })
    t.strictSame(
      (await reader.readDays('BTC')).entries,
      foldDays(minutes.map(minute => sampleOf('BTC', minute))),
    )
  },
)

// docs/faults.md, 3, 8 and 9
for (const [name, enter, leave, reason] of [
  ['frozen Redis', 'pause', 'resume', /timed out/],
  ['demoted primary', 'REPLICAOF 127.0.0.1 1', 'REPLICAOF NO ONE', /READONLY|MASTERDOWN/],
] as const) {
  t.test(`a write that a ${name} does not confirm is repeated, and counts once`, async t => {
    const { redis, raw, writer, reader, today } = await openStore(t, { coins: [BTC] })
    const { queue, until, untilWritten } = openQueue(writer)
    const change = (to: typeof enter | typeof leave) =>
      to === 'pause' || to === 'resume' ? redis[to]() : raw.call(...(to.split(' ') as [string]))
    await change(enter)
    queue.enqueue({ minute: today, samples: [sampleOf('BTC', today)] })
    await until('an attempt has failed', () => queue.status().totals.retries > 0)
    t.match(queue.status().problem, reason)
    await change(leave)
    await untilWritten()
    const { stored, duplicates } = queue.status().totals
    t.equal(stored + duplicates, 1, 'the last attempt found it stored or stored it')
    t.strictSame((await reader.readDays('BTC')).entries, foldDays([sampleOf('BTC', today)]))
  })
}

t.test('a full queue drops its oldest minute, but never the one being written', async t => {
  const { queue, log, sent, untilWritten, hold } = openWatched()
  const release = hold()
  const minutes = Array.from({ length: QUEUE_CAPACITY + 2 }, (_, at) => at + 1)
  for (const minute of minutes) queue.enqueue({ minute, samples: [] })
  t.equal(queue.status().waiting, QUEUE_CAPACITY)
  t.equal(queue.status().totals.dropped, 2)
  release()
  await untilWritten()
  t.strictSame(sent, [1, ...minutes.slice(3)])
  t.match(log.lines, [
    { message: /^queue is full/, fields: { minute: 2 } },
    { message: /^queue is full/, fields: { minute: 3 } },
  ])
})

t.test('prices of the wrong kind stop the queue, which reports that once', async t => {
  const { connection, writer, now } = await openStore(t, { prices: 'simulated', coins: [BTC] })
  await connection.call('HSET', '{kp}:meta', 'prices', 'live')
  const { queue, fatal, until } = openQueue(writer)
  queue.enqueue({ minute: now, samples: [sampleOf('BTC', now)] })
  await until('it says so', () => fatal.length > 0)
  t.equal(queue.status().waiting, 1)
  t.strictSame(
    fatal.map(error => error.code),
    ['KIMCHI_ERR_PRICES_KIND'],
  )
  queue.enqueue({ minute: now + 1, samples: [] })
  t.equal(queue.status().totals.dropped, 1)
})

t.test('a batch that cannot be encoded is dropped and counted, and the next ones are written', async t => {
  const { writer, now } = await openStore(t)
  const { queue, log, untilWritten } = openQueue(writer)
  queue.enqueue({ minute: now, samples: [{ ...sampleOf('BTC', now), usdtKrw: 0 }] })
  queue.enqueue({ minute: now + 1, samples: [sampleOf('BTC', now + 1)] })
  await untilWritten()
  t.match(queue.status().totals, { rejected: 1, stored: 1 })
  t.match(log.lines, [
    {
      message: /cannot be written/,
      fields: { minute: now, err: { message: 'usdtKrw must be a price, got: 0' } },
    },
  ])
})

t.test('a coin whose key is damaged is named until it is stored again, and holds up no other', async t => {
  const { writer, raw, today } = await openStore(t, { coins: [BTC] })
  const { queue, untilWritten } = openQueue(writer)
  const samplesAt = (minute: number) => ['BTC', 'ETH'].map(symbol => sampleOf(symbol, minute))
  await raw.set('{kp}:daily:ETH', 'not ours')
  queue.enqueue({ minute: today, samples: samplesAt(today) })
  await untilWritten()
  queue.enqueue({ minute: today + 1, samples: [sampleOf('BTC', today + 1)] })
  await untilWritten()
  t.match(queue.status(), { damaged: ['ETH'], problem: undefined, totals: { stored: 2, refused: 1 } })
  await raw.del('{kp}:daily:ETH')
  queue.enqueue({ minute: today + 2, samples: samplesAt(today + 2) })
  await untilWritten()
  t.match(queue.status(), { damaged: [], totals: { stored: 4 } })
})

t.test('retries are spread by the given randomness, and a trouble is logged once', async t => {
  let failures = 8
  const write = async () => {
    if (failures-- > 0) throw new KimchiError('KIMCHI_ERR_REDIS', 'away')
    return ONE_STORED
  }
  const { queue, log, clock, untilWritten } = openQueue({ write })
  const waits = t.capture(clock, 'wait', clock.wait)
  queue.enqueue({ minute: 1, samples: [] })
  await untilWritten()
  failures = 1
  queue.enqueue({ minute: 2, samples: [] })
  await untilWritten()
  t.strictSame(
    waits().map(({ args: [ms] }) => ms),
    Array(9).fill(375),
  )
  t.equal(queue.status().totals.retries, 9)
  const messages = log.lines.map(({ message }) => message)
  const once = ['writing fails, minutes wait', 'writing works again']
  t.strictSame(messages, [...once, ...once], 'however often it is met')
})

t.test('a closing queue writes what waits, for as long as its limit, and nothing more', async t => {
  let attempts = 0
  const { queue, clock, until } = openQueue({
    write: async () => {
      attempts += 1
      throw new KimchiError('KIMCHI_ERR_REDIS', 'away')
    },
  })
  queue.enqueue({ minute: 1, samples: [] })
  await until('it has tried for a while', () => attempts === 6)
  const before = clock.now()
  let isWritten: boolean | undefined
  void queue.close(2_000).then(answer => {
    isWritten = answer
  })
  await until('it gives up', () => isWritten !== undefined)
  t.equal(isWritten, false)
  t.ok(clock.now() - before < 2_500)
  t.ok(attempts >= 8, 'what Redis takes again meanwhile is written')
  queue.enqueue({ minute: 2, samples: [] })
  t.equal(queue.status().waiting, 1)
  t.equal(queue.status().totals.dropped, 1)
})

t.test('a queue that closes in time has written all', async t => {
  const { queue, sent } = openWatched()
  for (const minute of [1, 2, 3]) queue.enqueue({ minute, samples: [] })
  t.equal(await queue.close(2_000), true)
  t.strictSame(sent, [1, 2, 3])
})

t.test('after a reconnect the minutes of the last ten minutes are sent again, oldest first', async t => {
  const { queue, clock, sent, enqueue } = openWatched()
  queue.sendAgain('Redis is connected again')
  for (const minute of [1, 2, 3]) {
    await enqueue(minute)
    await clock.advance(240_000)
  }
  sent.length = 0
  queue.sendAgain('Redis is connected again')
  t.equal(queue.status().waiting, 2, 'minute 1 was confirmed twelve minutes ago')
  await enqueue(4)
  t.strictSame(sent, [2, 3, 4])
  t.match(queue.status().totals, { stored: 4, resent: 2, recovered: 0 })
  sent.length = 0
  queue.sendAgain('Redis is connected again')
  await enqueue(5)
  t.strictSame(sent, [2, 3, 4, 5], 'and again: another primary may be in charge')
  await clock.advance(240_000)
  queue.sendAgain('Redis is connected again')
  t.equal(queue.status().waiting, 3, 'what is found there is kept no longer for it')
})

// docs/faults.md, 44
t.test('when another primary answers, the confirmed minutes are sent to it', async t => {
  let primary = 'a'
  const { queue, sent, enqueue } = openWatched(() => primary)
  await enqueue(1)
  await enqueue(2)
  t.strictSame(sent, [1, 2])
  primary = 'b'
  await enqueue(3)
  t.strictSame(sent, [1, 2, 3, 1, 2], 'each once')
  t.match(queue.status().totals, { resent: 2, recovered: 2 })
})

t.test('minutes to be sent again do not overtake the one being written', async t => {
  const { queue, sent, enqueue, hold, until, untilWritten } = openWatched()
  await enqueue(1)
  const release = hold()
  queue.enqueue({ minute: 2, samples: [] })
  queue.enqueue({ minute: 3, samples: [] })
  await until('it is being written', () => sent.length === 2)
  queue.sendAgain('Redis is connected again')
  release()
  await untilWritten()
  t.strictSame(sent, [1, 2, 1, 3])
})
