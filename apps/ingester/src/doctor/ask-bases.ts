import { type Context, messageOf, REFERENCE_MARKETS } from '@kimchi/core'
import { binanceProtocol, getJson, type Protocol, upbitProtocol } from '@kimchi/feeds'
import type { DoctorOptions } from './instruments.ts'
import { WatchedStream } from './watched-stream.ts'
import type { BaseAnswer, BaseVariable } from './world.ts'

/** Who asks. */
interface Asker {
  readonly userAgent: string
  readonly context: Context
}

/** Asks each base of each list once: a small request, or a handshake. */
export async function answersOf(options: DoctorOptions, context: Context): Promise<readonly BaseAnswer[]> {
  const { config, userAgent } = options
  const asker = { userAgent, context }
  const [upbit, binance] = [upbitProtocol(config.UPBIT_WS_URL), binanceProtocol(config.BINANCE_WS_URL)]
  const path = '/v1/candles/minutes/1?market=KRW-BTC&count=1'
  const restAnswers = [
    ...config.UPBIT_REST_URL.map(base => askRest(asker, 'UPBIT_REST_URL', base, path)),
    ...config.BINANCE_REST_URL.map(base => askRest(asker, 'BINANCE_REST_URL', base, '/api/v3/ping')),
  ]
  const handshakes = [
    ...config.UPBIT_WS_URL.map(base => shakeHands(asker, 'UPBIT_WS_URL', base, upbit)),
    ...config.BINANCE_WS_URL.map(base => shakeHands(asker, 'BINANCE_WS_URL', base, binance)),
  ]
  return Promise.all([...restAnswers, ...handshakes])
}

async function askRest(
  { userAgent, context: { clock, signal } }: Asker,
  variable: BaseVariable,
  base: string,
  path: string,
): Promise<BaseAnswer> {
  const exchange = variable === 'UPBIT_REST_URL' ? 'upbit' : 'binance'
  const startedAt = clock.now()
  try {
    await getJson(`${base.replace(/\/+$/, '')}${path}`, { exchange, userAgent, signal }, clock)
    return { variable, base, isAnswering: true, said: `answered in ${clock.now() - startedAt} ms` }
  } catch (thrown) {
    return { variable, base, isAnswering: false, said: messageOf(thrown) }
  }
}

async function shakeHands(
  { userAgent, context }: Asker,
  variable: BaseVariable,
  base: string,
  protocol: Protocol,
): Promise<BaseAnswer> {
  const startedAt = context.clock.now()
  const markets = REFERENCE_MARKETS[protocol.exchange]
  const { connection } = new WatchedStream({ protocol, base, userAgent, markets }, context)
  await connection.reached('open')
  const { error } = connection.state.ending ?? {}
  if (error !== undefined) return { variable, base, isAnswering: false, said: error.message }
  void connection.close()
  return { variable, base, isAnswering: true, said: `open in ${context.clock.now() - startedAt} ms` }
}
