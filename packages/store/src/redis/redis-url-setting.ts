import type { Setting } from '@kimchi/core'
import { parseRedisUrl, READING_FORMS, REDIS_URL_FORMS } from './redis-url.ts'

const shared = { description: 'where Redis is', default: 'redis://127.0.0.1:6379', sensitive: true }

/** The `REDIS_URL` setting of an app that only reads. @see docs/architecture.md#configuration */
export const readingRedisUrlSetting: Setting<string> = {
  ...shared,
  allowed: READING_FORMS,
  parse: text => (parseRedisUrl(text) === undefined ? undefined : text),
}

/** The `REDIS_URL` setting of an app that writes: a replica refuses writes. */
export const redisUrlSetting: Setting<string> = {
  ...shared,
  allowed: REDIS_URL_FORMS,
  parse: text => (parseRedisUrl(text)?.reads === 'primary' ? text : undefined),
}
