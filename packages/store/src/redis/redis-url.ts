import type { Setting } from '@kimchi/core'

export interface RedisTarget {
  readonly kind: 'single' | 'sentinel' | 'cluster'
  /** The server, or the Sentinels, or some nodes of the Cluster. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  readonly tls: boolean
  /** PEM files of a private certificate authority and of a client certificate. */
  readonly tlsFiles: { readonly ca?: string; readonly cert?: string; readonly key?: string }
  readonly username: string | undefined
  readonly password: string | undefined
  /** Database number; 0 on a Cluster. */
  readonly db: number
  /** Name of the primary that the Sentinels watch. */
  readonly sentinelName: string | undefined
  readonly sentinelUsername: string | undefined
  readonly sentinelPassword: string | undefined
}

/** The forms of `REDIS_URL`, for the settings table. */
export const URL_FORMS =
  'redis://[user:password@]host[:port][/db], rediss://…, redis+sentinel://h:p,h:p/name[?sentinelPassword=…], or redis+cluster://h:p,h:p'

/** The `REDIS_URL` setting. @see docs/configuration.md */
export const redisUrlSetting: Setting<string> = {
  description: 'where Redis is',
  default: 'redis://127.0.0.1:6379',
  sensitive: true,
  allowed: URL_FORMS,
  parse: text => (parseRedisUrl(text) === undefined ? undefined : text),
}

const URL_PATTERN =
  /^(rediss?|redis\+sentinel|redis\+cluster):\/\/(?:([^@/?#]*)@)?([^@/?#]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/

/**
 * The target of a Redis URL, or undefined when the text is not one. The credentials before `@` are those of the
 * data servers, percent-encoded. Options, each where it applies: `tls=true`, `ca`, `cert` and `key` (files),
 * `db`, `sentinelUsername`, `sentinelPassword`; there are no others.
 * @see docs/configuration.md
 */
export function parseRedisUrl(text: string): RedisTarget | undefined {
  const match = URL_PATTERN.exec(text)
  if (match === null) return undefined
  const [, scheme = '', userinfo = '', hostList = '', path = '', query = ''] = match
  const kind = (scheme.split('+')[1] ?? 'single') as RedisTarget['kind']
  const hosts = hostList.split(',').map(host => parseHost(host, kind === 'sentinel' ? 26_379 : 6_379))
  const options = new URLSearchParams(query)
  const credentials = parseCredentials(userinfo)
  const db = kind === 'single' && path !== '' ? path : (options.get('db') ?? '0')
  if (!hosts.every(host => host !== undefined) || credentials === undefined) return undefined
  if (![...options.keys()].every(name => OPTIONS.has(name))) return undefined
  if (!/^\d{1,5}$/.test(db) || (kind === 'cluster' && (path !== '' || db !== '0'))) return undefined
  if (kind === 'single' && hosts.length !== 1) return undefined
  if (kind === 'sentinel' && !/^[\w.-]+$/.test(path)) return undefined
  return {
    kind,
    hosts,
    tls: scheme === 'rediss' || options.get('tls') === 'true',
    tlsFiles: Object.fromEntries([...options].filter(([name, file]) => TLS_FILES.has(name) && file !== '')),
    ...credentials,
    db: Number(db),
    sentinelName: kind === 'sentinel' ? path : undefined,
    sentinelUsername: options.get('sentinelUsername') ?? undefined,
    sentinelPassword: options.get('sentinelPassword') ?? undefined,
  }
}

/** Options of a URL that name a PEM file. */
const TLS_FILES: ReadonlySet<string> = new Set(['ca', 'cert', 'key'])
const OPTIONS: ReadonlySet<string> = new Set([
  ...TLS_FILES,
  ...['tls', 'db', 'sentinelUsername', 'sentinelPassword'],
])

/** A target for people to read, in logs and errors: without credentials. */
export function describeTarget({ kind, hosts, tls, sentinelName, db }: RedisTarget): string {
  const scheme = kind === 'single' ? (tls ? 'rediss' : 'redis') : `redis+${kind}`
  const path = sentinelName ?? (db === 0 ? undefined : db)
  const list = hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',')
  return `${scheme}://${list}${path === undefined ? '' : `/${path}`}`
}

function parseHost(text: string, defaultPort: number): RedisTarget['hosts'][number] | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/.exec(text)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3] ?? defaultPort)
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}

function parseCredentials(userinfo: string): Pick<RedisTarget, 'username' | 'password'> | undefined {
  const [username = '', ...rest] = userinfo.split(':')
  try {
    return {
      username: decodeURIComponent(username) || undefined,
      password: decodeURIComponent(rest.join(':')) || undefined,
    }
  } catch {
    return undefined
  }
}
