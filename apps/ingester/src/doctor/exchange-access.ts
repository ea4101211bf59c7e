import type { Context, EpochMs, Exchange } from '@kimchi/core'
import { Bases, type HttpAnswer, isFields, RestClient } from '@kimchi/feeds'
import type { Config } from '../config.ts'
import type { Recorder } from './recorder.ts'

export interface DoctorOptions {
  readonly config: Config
  readonly userAgent: string
  readonly recorder: Recorder
  /** What the doctor does now, for a person who waits. */
  readonly onProgress: (text: string) => void
}

/** Markets' last prices by REST; `tradedAt` is 0 where the exchange does not say it. */
export type LastPrices = ReadonlyMap<unknown, { readonly price: number; readonly tradedAt: EpochMs }>

/** The REST client and addresses that the checks use. */
export type ExchangeAccess = ReturnType<typeof createExchangeAccess>

/** The same clients as the service's, so that an address that fails is replaced in the same way. */
export function createExchangeAccess(options: DoctorOptions, context: Context) {
  const { config, userAgent } = options
  const rest = { upbit: config.UPBIT_REST_URL, binance: config.BINANCE_REST_URL, userAgent }
  const streamBases = {
    upbit: new Bases('upbit', 'stream', config.UPBIT_WS_URL, context),
    binance: new Bases('binance', 'stream', config.BINANCE_WS_URL, context),
  }
  return { ...options, context, rest: new RestClient(rest, context), streamBases }
}

/** One REST answer at the base in use, recorded under the last part of its path. */
export async function fetchRecorded(
  { rest, recorder }: ExchangeAccess,
  exchange: Exchange,
  path: string,
): Promise<HttpAnswer> {
  const answer = await rest.get(exchange, path, answer => answer)
  const name = path.replace(/^\/(v1|api\/v3)|\?.*$/g, '').replaceAll('/', '-')
  recorder.answer(`${exchange}${name}`, answer.text)
  return answer
}

/** Fetches which symbols trade on Binance, and at what price, as the service does once a minute. */
export async function fetchTradingPrices(access: ExchangeAccess): Promise<LastPrices> {
  const { json } = await fetchRecorded(access, 'binance', '/api/v3/ticker/price?symbolStatus=TRADING')
  const entries = [json].flat().filter(isFields)
  return new Map(entries.map(({ symbol, price }) => [symbol, { price: Number(price), tradedAt: 0 }]))
}
