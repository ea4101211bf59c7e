import { LatestTicks, type Market } from '@kimchi/core'
import t, { type Test } from 'tap'
import { Renewals } from '../../src/feed/renewals.ts'
import { subscribedMarkets } from '../../src/feed/subscribed-markets.ts'
import { upbitProtocol } from '../../src/upbit.ts'
import { AT, openScripted } from '../harness.ts'
import { untilRead, upbitTicker } from '../scripted-exchange.ts'

const ALL = subscribedMarkets('upbit', ['KRW-DOT'])
const OTHERS = ALL.filter(market => market !== 'KRW-DOT')
const HALF = ['KRW-BTC', 'KRW-ETH', 'KRW-XRP']

/** Upbit, where only BTC trades. The subscription is renewed 35 s into each minute. */
async function openUpbit(t: Test) {
  const latest = new LatestTicks()
  const protocol = { ...upbitProtocol, pingEveryMs: undefined }
  const options = { protocol, markets: ['KRW-DOT'], sink: latest }
  const { exchange, clock, untilNext, send: sendFrame } = await openScripted(t, options)
  const renewedAt: number[] = []
  const second = () => (clock.now() - AT) / 1_000
  const send = async (market: Market, origin: 'REALTIME' | 'SNAPSHOT' = 'REALTIME', changes = {}) => {
    const frame = { ...JSON.parse(String(upbitTicker(market, 5, clock.now(), origin))), ...changes }
    await sendFrame(Buffer.from(JSON.stringify(frame)), exchange.peers.length - 1)
  }
  /** Lets time pass; each subscription is answered by SNAPSHOTs of these markets. */
  const pass = async (untilSecond: number, shown: readonly Market[], isSilent = false) => {
    while (second() < untilSecond) {
      await clock.advance(1_000)
      const peer = exchange.peers.at(-1)
      await untilRead(peer)
      if (peer && peer.received.length > peer.acknowledged) {
        peer.acknowledged = peer.received.length
        renewedAt.push(second())
        for (const market of shown) await send(market, 'SNAPSHOT')
      }
      if (!isSilent) await send('KRW-BTC')
    }
  }
  const cut = async (shown: readonly Market[]) => {
    const count = exchange.peers.length
    exchange.peers.at(-1)?.socket.terminate()
    await untilNext(count)
    await pass(Math.ceil(second()), shown)
  }
  return { clock, pass, send, cut, renewedAt, halted: () => [...latest.status('upbit').halted].sort() }
}

// docs/faults.md, 39
t.test('a market of which two renewals bring no SNAPSHOT is halted, until a frame of it comes', async t => {
  const { pass, send, renewedAt, halted } = await openUpbit(t)
  await pass(30, ALL)
  await pass(154, OTHERS)
  t.strictSame(halted(), [], 'the second renewal has not answered yet')
  await pass(156, OTHERS)
  t.strictSame(halted(), ['KRW-DOT'])
  t.strictSame(renewedAt, [1, 35, 95, 155], 'no renewal more for it')
  await pass(400, OTHERS)
  t.strictSame(halted(), ['KRW-DOT'])
  await send('KRW-DOT')
  t.strictSame(halted(), [])
  await pass(514, OTHERS)
  t.strictSame(halted(), [], 'it has traded since the first renewal that lacks it')
  await pass(576, OTHERS)
  t.strictSame(halted(), ['KRW-DOT'])
  await pass(636, ALL)
  t.strictSame(halted(), [], 'a SNAPSHOT is a frame, too')
})

t.test('a market stays that rests, that one renewal lacks, or that has traded since', async t => {
  const { pass, send, halted } = await openUpbit(t)
  for (let minute = 0; minute < 10; minute++) {
    await pass(minute * 60 + 50, minute % 2 === 0 ? OTHERS : ALL)
    t.strictSame(halted(), [])
  }
  await pass(636, OTHERS)
  await send('KRW-DOT')
  await pass(756, OTHERS)
  t.strictSame(halted(), [], 'a trade after the first of two renewals')
  await pass(816, OTHERS)
  t.strictSame(halted(), ['KRW-DOT'])
})

// docs/exchanges.md, Unconfirmed
t.test('a renewal that brings SNAPSHOTs of fewer than half of the markets says nothing', async t => {
  const { pass, halted } = await openUpbit(t)
  await pass(30, ALL)
  await pass(330, [])
  t.strictSame(halted(), [], 'none')
  await pass(630, HALF.slice(1))
  t.strictSame(halted(), [], 'a third of them, beside one that trades')
  await pass(870, HALF)
  t.strictSame(halted(), ['KRW-DOT', 'KRW-SOL', 'KRW-USDT'], 'half of them')
})

for (const what of ['a cut', 'a silence'] as const) {
  const disturb = async ({ pass, cut }: Awaited<ReturnType<typeof openUpbit>>, untilSecond: number) =>
    what === 'a cut' ? cut(OTHERS) : pass(untilSecond, OTHERS, true)

  t.test(`${what} while the SNAPSHOTs of a renewal come, and what lacked a market says nothing`, async t => {
    const upbit = await openUpbit(t)
    await upbit.pass(30, ALL)
    await upbit.pass(97, OTHERS)
    await disturb(upbit, 101)
    await upbit.pass(200, OTHERS)
    t.strictSame(upbit.halted(), [])
    await upbit.pass(276, OTHERS)
    t.strictSame(upbit.halted(), ['KRW-DOT'], 'two that follow do')
  })

  t.test(`${what} five seconds after a renewal changes nothing of its answer`, async t => {
    const upbit = await openUpbit(t)
    await upbit.pass(30, ALL)
    await upbit.pass(101, OTHERS)
    await disturb(upbit, 105)
    await upbit.pass(156, OTHERS)
    t.strictSame(upbit.halted(), ['KRW-DOT'])
  })
}

t.test('a renewal is no answer before the stream has gone on for five seconds', async t => {
  const renewals = new Renewals()
  const renew = (second: number, goesOnFor: number, markets = ['KRW-BTC']) => {
    const answer = renewals.renew({ at: AT + second * 1_000, elapsed: second * 1_000 }, markets)
    renewals.hear('KRW-BTC', true, true)
    renewals.wholeUntil(AT + (second + goesOnFor) * 1_000)
    return answer
  }
  renew(0, 4.999)
  t.equal(renew(60, 5), undefined)
  t.match(renew(120, 5), { asked: { at: AT + 60_000 }, markets: ['KRW-BTC'] })
  t.strictSame(renew(180, 5, ['KRW-ETH'])?.markets, [], 'nor of a market that is no longer subscribed')
})

t.test('what a frame says of its market stands', async t => {
  const { pass, send, halted } = await openUpbit(t)
  await pass(70, ALL)
  await send('KRW-DOT')
  await send('KRW-DOT', 'SNAPSHOT', { market_state: 'PREVIEW' })
  t.strictSame(halted(), ['KRW-DOT'], 'at once')
  const seen = new Set<string>()
  for (let second = 71; second < 400; second++) {
    await pass(second, OTHERS)
    seen.add(halted().join())
  }
  t.strictSame([...seen], ['KRW-DOT'])
  await send('KRW-DOT', 'SNAPSHOT')
  t.strictSame(halted(), [], 'at once')
})
