import type { Context, Exchange } from '@kimchi/core'
import { Bases, type HttpAnswer, RestClient } from '@kimchi/feeds'
import type { Config } from '../config.ts'
import type { Recorder } from './recorder.ts'

/** What the doctor is run with. */
export interface DoctorOptions {
  readonly config: Config
  readonly userAgent: string
  readonly recorder: Recorder
  /** What the doctor does now, for a person who waits. */
  readonly onProgress: (text: string) => void
}

/** What the checks ask with. */
export type Instruments = ReturnType<typeof createInstruments>

/** Everything is the service's own: each base moves on where the service would. */
export function createInstruments(options: DoctorOptions, context: Context) {
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
  { rest, recorder }: Instruments,
  exchange: Exchange,
  path: string,
): Promise<HttpAnswer> {
  const answer = await rest.get(exchange, path, answer => answer)
  const name = path.replace(/^\/(v1|api\/v3)|\?.*$/g, '').replaceAll('/', '-')
  recorder.answer(`${exchange}${name}`, answer.text)
  return answer
}
