import { integerSetting, readSettings, type SettingValues, wordSetting } from '@kimchi/core'
import { opsSettings } from '@kimchi/runtime'
import { redisUrlSetting } from '@kimchi/store'

/** Every setting of the API, as the table of docs/configuration.md and {@link readConfig} read them. */
export const settings = {
  REDIS_URL: redisUrlSetting,
  HOST: wordSetting('address the public API listens on, `::` for every one', '::'),
  PORT: integerSetting('port of the public API, 0 picks a free one', 3_000, { min: 0, max: 65_535 }),
  ...opsSettings(9_464),
}

export type Config = SettingValues<typeof settings>

/**
 * Reads the API's configuration from an environment.
 * @throws KimchiError `KIMCHI_ERR_CONFIG` naming every problem at once
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  return readSettings(settings, env)
}
