import { type Context, HOUR_MS, LatestTicks, type Market, PACEMAKERS, REFERENCE_MARKETS } from '@kimchi/core'
import { binanceProtocol, createRestBases, type Protocol, upbitProtocol } from '@kimchi/feeds'
import { answersOf } from './ask-bases.ts'
import { askForTooMany, askPrices, askSilentSymbols, loadLists, noteLimits, wakeRest } from './ask-rest.ts'
import type { DoctorOptions, Instruments } from './instruments.ts'
import { watchCandles } from './watch-candles.ts'
import { WatchedStream, type WatchOptions } from './watched-stream.ts'
import type { BaseVariable, World } from './world.ts'

/** A code that no exchange lists. */
const NO_SUCH_CODE = 'KRW-NOSUCHCODE'

/** When Upbit's subscription is sent again, after the streams were opened. */
const RENEWALS_MS = [15_000, 30_000, 45_000]

/** As many as one connection to Binance may carry, with room for the reference markets. */
const MOST_MARKETS = 1_000

/** Asks both exchanges whatever the checks want to know, and fills in the world as the answers come. */
export async function observe(world: World, options: DoctorOptions, context: Context): Promise<void> {
  options.onProgress('asking every base')
  world.bases.push(...(await answersOf(options, context)))
  const basesOf = (variable: BaseVariable) => {
    const answering = inUse(world, variable)
    return answering === undefined ? options.config[variable] : [answering]
  }
  const bases = createRestBases(basesOf('UPBIT_REST_URL'), basesOf('BINANCE_REST_URL'), context)
  const rest = options.openRest(bases)
  const instruments: Instruments = { ...options, bases, rest, context, latest: new LatestTicks() }
  try {
    options.onProgress('loading the lists')
    await loadLists(world, instruments)
    await Promise.all([
      noteLimits(world, instruments),
      askForTooMany(world, instruments),
      wakeRest(instruments),
    ])
    options.onProgress('opening the streams')
    openStreams(world, instruments)
    await Promise.all([
      renew(world, instruments),
      askPrices(world, instruments),
      watchCandles(world, instruments),
    ])
    options.onProgress('asking for the limits')
    await askSilentSymbols(world, instruments)
    await noteLimits(world, instruments)
  } finally {
    world.leftAt = context.clock.now()
    const streams = [world.upbit, world.twin, world.idle, world.binance]
    await Promise.all(streams.map(stream => stream?.connection.close()))
    await rest.close()
  }
}

/** The base that the service would use. */
function inUse({ bases }: World, variable: BaseVariable): string | undefined {
  return bases.find(answer => answer.variable === variable && answer.isAnswering)?.base
}

function openStreams(world: World, instruments: Instruments): void {
  const { config, userAgent, recorder, context, latest } = instruments
  const marketsOf = (exchange: 'upbit' | 'binance') => {
    const listed = world.listings[exchange]?.markets.map(({ market }) => market) ?? []
    // Without the other exchange's list nothing matches; then all of this one's markets are as good.
    const ours =
      world.coins.length > 0 ? world.coins.map(coin => coin[exchange]) : listed.slice(0, MOST_MARKETS)
    return [...new Set([...REFERENCE_MARKETS[exchange], ...PACEMAKERS[exchange], ...ours])]
  }
  const open = (name: string, variable: BaseVariable, options: Omit<WatchOptions, 'base' | 'userAgent'>) => {
    const base = inUse(world, variable)
    const onRaw: WatchOptions['onRaw'] = (frame, at) => recorder.frame(name, frame, at)
    return base === undefined ? undefined : new WatchedStream({ ...options, base, userAgent, onRaw }, context)
  }
  const onTick: WatchOptions['onTick'] = tick => void latest.record(tick)
  const upbit = upbitProtocol(config.UPBIT_WS_URL)
  // Nothing but our pings keeps it open.
  const patient: Protocol = { ...upbit, maxSilenceMs: HOUR_MS }
  const binance = binanceProtocol(config.BINANCE_WS_URL)
  const markets: Market[] = marketsOf('upbit')
  world.openedAt = context.clock.now()
  world.upbit = open('upbit-ws', 'UPBIT_WS_URL', { protocol: upbit, markets, onTick })
  world.twin = open('upbit-ws-twin', 'UPBIT_WS_URL', { protocol: upbit, markets })
  world.idle = open('upbit-ws-idle', 'UPBIT_WS_URL', { protocol: patient, markets: [NO_SUCH_CODE] })
  world.binance = open('binance-ws', 'BINANCE_WS_URL', {
    protocol: binance,
    markets: marketsOf('binance'),
    onTick,
  })
}

async function renew({ upbit, renewals, openedAt }: World, { context }: Instruments): Promise<void> {
  const { clock, signal } = context
  for (const afterMs of RENEWALS_MS) {
    await clock.wait(openedAt + afterMs - clock.now(), signal)
    if (signal.aborted || upbit === undefined || upbit.connection.state.ending !== undefined) return
    renewals.push(clock.now())
    upbit.connection.renewSubscription()
  }
}
