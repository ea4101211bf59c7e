import { join, resolve } from 'node:path'
import {
  integerSetting,
  KimchiError,
  readSettings,
  type Setting,
  type SettingValues,
  wordSetting,
} from '@kimchi/core'
import { projectRoot } from '@kimchi/local-redis'
import { withSecretFile } from '@kimchi/runtime'

/** `demo` runs on the simulator, `live` on the exchanges. */
export type Mode = 'demo' | 'live'

const portSetting = (description: string) => ({
  ...integerSetting(description, 0, { min: 0, max: 65_535 }),
  default: undefined,
})

/** The variables that the stack itself reads; the apps read their own. */
export const settings = {
  REDIS_URL: {
    description: 'a Redis for `npm start` instead of its own',
    default: undefined,
    allowed: 'what the ingester allows',
    sensitive: true,
    parse: text => text,
  },
  DATA_DIR: {
    description: 'folder of the Redis and the logs; without it `.data/demo` or `.data/live`',
    default: undefined,
    allowed: 'a folder',
    parse: text => text,
  },
  HOST: wordSetting('address the public API listens on with `npm start`', '127.0.0.1'),
  PORT: portSetting('port of the public API; without it the first free one from 3000 up'),
  PAGE_HOST: wordSetting(
    'address the page listens on; with this machine’s own in a network a phone there opens it',
    '127.0.0.1',
  ),
  PAGE_PORT: portSetting('port of the page; without it the first free one from 8080 up'),
} satisfies Record<string, Setting<unknown>>

export type Config = Pick<SettingValues<typeof settings>, 'HOST' | 'PAGE_HOST'> &
  Partial<SettingValues<typeof settings>> & {
    readonly mode: Mode
    /** Where its Redis and the logs are kept. */
    readonly dataDir: string
    /** The environment that every app inherits; what `startApps` gives an app goes over it. */
    readonly env: Readonly<Record<string, string | undefined>>
  }

/**
 * Reads the stack's configuration.
 * @throws KimchiError `KIMCHI_ERR_CONFIG` naming every problem at once
 */
export function readConfig(mode: string | undefined, env: Config['env']): Config {
  if (mode !== 'demo' && mode !== 'live') {
    throw new KimchiError('KIMCHI_ERR_CONFIG', `the mode must be demo or live, got: ${mode}`)
  }
  // A demo has a Redis of its own, and conda and tcsh set HOST to what is no address to listen on.
  const given = mode === 'live' ? withSecretFile(env) : { ...env, REDIS_URL: undefined, HOST: undefined }
  const values = readSettings(settings, given)
  const dataDir = values.DATA_DIR ? resolve(values.DATA_DIR) : join(projectRoot(), '.data', mode)
  // Where Node takes the environment's proxy (NODE_USE_ENV_PROXY=1), this machine is asked without it.
  const direct = [env.no_proxy ?? env.NO_PROXY, '127.0.0.1', 'localhost', '::1'].filter(Boolean).join(',')
  // The apps get the URL itself.
  const handedOn = { ...env, REDIS_URL_FILE: undefined, no_proxy: direct, NO_PROXY: direct }
  return { ...values, mode, dataDir, env: handedOn }
}
