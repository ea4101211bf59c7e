import type { Context, Exchange } from '@kimchi/core'
import { Bases, type HttpAnswer, RestClient } from '@kimchi/feeds'
import type { Config } from '../config.ts'
import type { Recorder } from './exchange-recorder.ts'

export interface DoctorOptions {
  readonly config: Config
  readonly userAgent: string
  readonly record: Recorder
  /** What the doctor does now, for a person who waits. */
  readonly onProgress: (text: string) => void
}

/** The REST client and addresses that the checks use. */
export type ExchangeAccess = ReturnType<typeof createExchangeAccess>

/** The same clients as the service's, so that an address that fails is replaced in the same way. */
export function createExchangeAccess(options: DoctorOptions, context: Context) {
  const { config } = options
  const streamBases = {
    upbit: new Bases('upbit', 'stream', config.UPBIT_WS_URL, context),
    binance: new Bases('binance', 'stream', config.BINANCE_WS_URL, context),
  }
  return { ...options, context, rest: new RecordedRestClient(options, context), streamBases }
}

/**
 * The service's client, which records each answer and keeps the last one, by the exchange and the path without its
 * query.
 */
class RecordedRestClient extends RestClient {
  readonly #record: Recorder
  /** For what a check reads in them beside the service. */
  readonly lastAnswers = new Map<string, HttpAnswer>()

  constructor({ config, userAgent, record }: DoctorOptions, context: Context) {
    super({ upbit: config.UPBIT_REST_URL, binance: config.BINANCE_REST_URL, userAgent }, context)
    this.#record = record
  }

  override get<T>(exchange: Exchange, path: string, read: (answer: HttpAnswer) => T): Promise<T> {
    const name = exchange + path.replace(/^\/(v1|api\/v3)|\?.*$/g, '').replaceAll('/', '-')
    return super.get(exchange, path, answer => {
      this.#record(name, answer.text)
      this.lastAnswers.set(name, answer)
      return read(answer)
    })
  }
}
