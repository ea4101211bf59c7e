import { choiceSetting, integerSetting, type Setting, wordSetting } from '@kimchi/core'
import { LOG_LEVELS } from './logger.ts'

/** The settings every app has for its ops endpoints and its log. @param port default of `OPS_PORT` */
export function opsSettings(port: number) {
  return {
    OPS_HOST: wordSetting('address the ops endpoints listen on, `::` for every one', '127.0.0.1'),
    OPS_PORT: integerSetting('port of `/live`, `/ready`, `/metrics` and the API’s `/serving`', port, {
      min: 0,
      max: 65_535,
    }),
    LOG_LEVEL: choiceSetting('how much is logged', 'info', LOG_LEVELS),
  } satisfies Record<string, Setting<unknown>>
}
