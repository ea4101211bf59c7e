import type { Context, LatestTicks } from '@kimchi/core'
import type { RestBases, RestChild } from '@kimchi/feeds'
import type { Config } from '../config.ts'
import type { Recorder } from './recorder.ts'

/** What the doctor asks of the REST child. */
export type DoctorRest = Pick<RestChild, 'candlePage' | 'fetchTrading' | 'close'>

/** What the doctor works with. */
export interface Instruments {
  readonly config: Config
  readonly userAgent: string
  readonly bases: RestBases
  readonly rest: DoctorRest
  readonly recorder: Recorder
  /** What the doctor does now, for a person who waits. */
  readonly onProgress: (text: string) => void
  readonly context: Context
  readonly latest: LatestTicks
}

/** What the doctor is run with. */
export interface DoctorOptions extends Pick<Instruments, 'config' | 'userAgent' | 'recorder' | 'onProgress'> {
  readonly openRest: (bases: RestBases) => DoctorRest
}
