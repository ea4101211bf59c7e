import type { Setting } from '@kimchi/core'

/** What a Redis URL names; a text is empty where it names nothing. */
export interface RedisTarget {
  readonly kind: 'single' | 'sentinel' | 'cluster'
  /** The URL for people to read, in logs and errors: without credentials and options. */
  readonly label: string
  /** The server, or the Sentinels, or some nodes of the Cluster. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  /** Options of the client for the servers that hold data. */
  readonly login: { readonly username: string; readonly password: string; readonly db: number }
  /** Options of the client for Sentinels; `name` is that of the primary they watch. */
  readonly sentinel: Readonly<Record<'name' | 'sentinelUsername' | 'sentinelPassword', string>>
  /** PEM files of a private authority and of a client certificate; undefined without TLS. */
  readonly tlsFiles: Readonly<Record<string, string>> | undefined
}

/** The forms of `REDIS_URL`, for the settings table. */
export const URL_FORMS =
  'redis://[user:password@]host[:port][/db] (percent-encoded), rediss://…, redis+sentinel://h:p,h:p/name[?sentinelPassword=…], or redis+cluster://h:p,h:p'

/** The `REDIS_URL` setting. @see docs/configuration.md */
export const redisUrlSetting: Setting<string> = {
  description: 'where Redis is',
  default: 'redis://127.0.0.1:6379',
  sensitive: true,
  allowed: URL_FORMS,
  parse: text => (parseRedisUrl(text) === undefined ? undefined : text),
}

const URL_PATTERN =
  /^(rediss?|redis\+sentinel|redis\+cluster):\/\/([^@/?#]*@)?([^@/?#]+)(?:\/([^?#]*))?(\?[^#]*)?$/

/** What may follow the hosts: the number of a database, the name of a primary, or nothing. */
const PATHS = { single: /^\d{0,5}$/, sentinel: /^[\w.-]+$/, cluster: /^$/ }

/** Options of a URL that name a PEM file. */
const TLS_FILES = ['ca', 'cert', 'key']
const OPTIONS = new Set([...TLS_FILES, 'tls', 'db', 'sentinelUsername', 'sentinelPassword'])

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
  const options: Readonly<Record<string, string>> = Object.fromEntries(new URLSearchParams(query))
  const { sentinelUsername = '', sentinelPassword = '' } = options
  const db = (kind === 'single' && path) || (options.db ?? '0')
  const authority = parseAuthority(userinfo, hostList.split(','), kind === 'sentinel' ? 26_379 : 6_379)
  if (authority === undefined) return undefined
  const { hosts, login } = authority
  if (!Object.keys(options).every(option => OPTIONS.has(option))) return undefined
  if (!PATHS[kind].test(path) || !/^\d{1,5}$/.test(db)) return undefined
  if ((kind === 'single' && hosts.length > 1) || (kind === 'cluster' && db !== '0')) return undefined
  const files = Object.entries(options).filter(([option, file]) => TLS_FILES.includes(option) && file !== '')
  return {
    kind,
    label: `${scheme}://${hostList}${path && `/${path}`}`,
    hosts,
    login: { ...login, db: Number(db) },
    sentinel: { name: path, sentinelUsername, sentinelPassword },
    tlsFiles: scheme === 'rediss' || options.tls === 'true' ? Object.fromEntries(files) : undefined,
  }
}

/** Undefined when a host, a port or the credentials can't be ones. */
function parseAuthority(userinfo: string, hostList: readonly string[], defaultPort: number) {
  try {
    // A URL has one host, so each host of the list becomes a URL with the same credentials.
    const urls = hostList.map(host => new URL(`redis://${userinfo}${host}`))
    const hosts = urls.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || defaultPort),
    }))
    if (!hosts.every(({ host, port }) => /^[\w.:-]+$/.test(host) && port > 0)) return undefined
    const { username = '', password = '' } = urls[0] ?? {}
    return {
      hosts,
      login: { username: decodeURIComponent(username), password: decodeURIComponent(password) },
    }
  } catch {
    return undefined
  }
}
