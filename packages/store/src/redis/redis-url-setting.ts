import type { Setting } from '@kimchi/core'
import { parseRedisUrl, REDIS_URL_FORMS } from './redis-url.ts'

/** The `REDIS_URL` setting of every app. @see docs/architecture.md#configuration */
export const redisUrlSetting: Setting<string> = {
  description: 'where Redis is',
  default: 'redis://127.0.0.1:6379',
  allowed: REDIS_URL_FORMS,
  sensitive: true,
  parse: text => (parseRedisUrl(text) === undefined ? undefined : text),
}
