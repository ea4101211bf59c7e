import type { Context, Exchange } from '@kimchi/core'
import { createDoors, type HttpAnswer, RestClient } from '@kimchi/feeds'
import { type Config, doorSettings } from '../config.ts'
import type { Recorder } from './exchange-recorder.ts'

export interface DoctorOptions {
  readonly config: Config
  readonly version: string
  readonly record: Recorder
}

/** The doors of the service, and what the exchanges have said at them. */
export type ExchangeAccess = ReturnType<typeof createExchangeAccess>

/** A ban is a finding, too: the doctor does not wait until it is over. */
export const AT_ONCE = { worthMs: 0 }

/** The same doors as the service's, so that an address that fails is replaced in the same way. */
export function createExchangeAccess(options: DoctorOptions, context: Context) {
  const { config, version, record } = options
  /** The last answer by the exchange and the path without its query, for what a check reads beside the service. */
  const lastAnswers = new Map<string, HttpAnswer>()
  const onAnswer = (exchange: Exchange, path: string, answer: HttpAnswer) => {
    const name = exchange + path.replace(/^\/(v1|api\/v3)|\?.*$/g, '').replaceAll('/', '-')
    record(name, answer.text)
    lastAnswers.set(name, answer)
  }
  const doors = createDoors({ ...doorSettings(config, version), onAnswer }, context)
  return { ...options, context, doors, rest: new RestClient(doors), lastAnswers }
}
