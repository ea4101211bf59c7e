import type { Context, Exchange } from '@kimchi/core'
import type { Bases, getJson, HttpAnswer, RestBases, RestClient } from '@kimchi/feeds'
import type { Config } from '../config.ts'
import type { Recorder } from './recorder.ts'

/** How the doctor asks for candles: as the service does. */
export type CandleSource = Pick<RestClient, 'candlePage'>

/** What the doctor is run with. */
export interface DoctorOptions {
  readonly config: Config
  readonly userAgent: string
  readonly recorder: Recorder
  readonly get: typeof getJson
  readonly openRest: (bases: RestBases) => CandleSource
  /** What the doctor does now, for a person who waits. */
  readonly onProgress: (text: string) => void
}

/** What the checks ask with. The bases are the service's own: each moves on where the service would. */
export interface Instruments extends DoctorOptions {
  readonly restBases: RestBases
  readonly streamBases: Readonly<Record<Exchange, Bases>>
  readonly rest: CandleSource
  readonly context: Context
}

/** One REST answer at the base in use, recorded under the last part of its path. */
export async function ask(instruments: Instruments, exchange: Exchange, path: string): Promise<HttpAnswer> {
  const { restBases, get, userAgent, recorder, context } = instruments
  const { signal, clock } = context
  const request = { exchange, userAgent, signal }
  const answer = await restBases[exchange].request(base => get(`${base}${path}`, request, clock), signal)
  const name = path.replace(/^\/(v1|api\/v3)|\?.*$/g, '').replaceAll('/', '-')
  recorder.answer(`${exchange}${name}`, answer.text)
  return answer
}
