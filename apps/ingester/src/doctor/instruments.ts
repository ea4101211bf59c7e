import type { Context, Exchange } from '@kimchi/core'
import type { Bases, HttpAnswer, RestClient } from '@kimchi/feeds'
import type { Config } from '../config.ts'
import type { Recorder } from './recorder.ts'

/** How the doctor asks by REST: as the service does. */
export type DoctorRest = Pick<RestClient, 'bases' | 'fetchCandles' | 'get'>

/** What the doctor is run with. */
export interface DoctorOptions {
  readonly config: Config
  readonly userAgent: string
  readonly recorder: Recorder
  readonly createRest: (context: Context) => DoctorRest
  /** What the doctor does now, for a person who waits. */
  readonly onProgress: (text: string) => void
}

/** What the checks ask with. The bases are the service's own: each moves on where the service would. */
export interface Instruments extends DoctorOptions {
  readonly streamBases: Readonly<Record<Exchange, Bases>>
  readonly rest: DoctorRest
  readonly context: Context
}

/** One REST answer at the base in use, recorded under the last part of its path. */
export async function ask(instruments: Instruments, exchange: Exchange, path: string): Promise<HttpAnswer> {
  const { rest, recorder } = instruments
  const answer = await rest.get(exchange, path, answer => answer)
  const name = path.replace(/^\/(v1|api\/v3)|\?.*$/g, '').replaceAll('/', '-')
  recorder.answer(`${exchange}${name}`, answer.text)
  return answer
}
