/** One server of a {@link RedisTarget}. */
export interface RedisHost {
  readonly host: string
  readonly port: number
}

/** What a Redis URL points at. */
export interface RedisTarget {
  readonly kind: 'single' | 'sentinel' | 'cluster'
  /** The server, or the Sentinels, or some nodes of the Cluster. */
  readonly hosts: readonly RedisHost[]
  readonly tls: boolean
  /** PEM files of a private authority and of a client certificate. */
  readonly tlsFiles: { readonly ca?: string; readonly cert?: string; readonly key?: string }
  readonly username: string | undefined
  readonly password: string | undefined
  /** Database number; 0 on a Cluster. */
  readonly db: number
  /** Name of the primary that the Sentinels watch. */
  readonly sentinelName: string | undefined
  readonly sentinelUsername: string | undefined
  readonly sentinelPassword: string | undefined
  /** Who is read from: a replica while there is one, or any server of the Cluster's shard. */
  readonly reads: 'primary' | 'replica' | 'all'
}

/** What REDIS_URL may look like, for the settings table. */
export const REDIS_URL_FORMS =
  'redis://[user:password@]host[:port][/db], rediss://…, redis+sentinel://h:p,h:p/name[?sentinelPassword=…], or redis+cluster://h:p,h:p'

/** What a URL of somebody who only reads may say besides. */
export const READING_FORMS = `${REDIS_URL_FORMS}; with ?role=replica (Sentinel) or ?scaleReads=replica or all (Cluster)`

/** How each kind names who is read from, and what it may be. */
const READS: Readonly<Record<string, readonly [name: string, ...values: string[]]>> = {
  sentinel: ['role', 'replica', 'primary'],
  cluster: ['scaleReads', 'replica', 'all', 'primary'],
}

const KINDS = {
  redis: 'single',
  rediss: 'single',
  'redis+sentinel': 'sentinel',
  'redis+cluster': 'cluster',
} as const
const DEFAULT_PORT = { single: 6379, sentinel: 26379, cluster: 6379 }

/**
 * The target of a Redis URL, or undefined when the text is not one. Credentials before `@` are those of the
 * data servers, percent-encoded; `?tls=true`, `?db=`, `?sentinelUsername=`, `?sentinelPassword=`,
 * `?role=` and `?scaleReads=` where they apply.
 * @see docs/architecture.md#configuration
 */
export function parseRedisUrl(text: string): RedisTarget | undefined {
  const match = /^([a-z+]+):\/\/(?:([^@/?#]*)@)?([^@/?#]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/.exec(text)
  if (match === null) return undefined
  const [, scheme = '', userinfo = '', hostList = '', path = '', query = ''] = match
  if (!isKnownScheme(scheme)) return undefined
  const kind = KINDS[scheme]
  const hosts = hostList.split(',').map(host => parseHost(host, DEFAULT_PORT[kind]))
  const options = new URLSearchParams(query)
  const credentials = parseCredentials(userinfo)
  const db = kind === 'single' && path !== '' ? path : (options.get('db') ?? '0')
  if (hosts.some(host => host === undefined) || credentials === undefined) return undefined
  if (!/^\d{1,5}$/.test(db) || (kind === 'cluster' && (path !== '' || db !== '0'))) return undefined
  if (kind === 'single' && hosts.length !== 1) return undefined
  if (kind === 'sentinel' && !/^[\w.-]+$/.test(path)) return undefined
  const reads = parseReads(kind, options)
  if (reads === undefined) return undefined
  return {
    kind,
    hosts: hosts as RedisHost[],
    tls: scheme === 'rediss' || options.get('tls') === 'true',
    tlsFiles: Object.fromEntries(
      ['ca', 'cert', 'key'].flatMap(name => (options.get(name) ? [[name, options.get(name)]] : [])),
    ),
    ...credentials,
    db: Number(db),
    sentinelName: kind === 'sentinel' ? path : undefined,
    sentinelUsername: options.get('sentinelUsername') ?? undefined,
    sentinelPassword: options.get('sentinelPassword') ?? undefined,
    reads,
  }
}

function parseReads(kind: RedisTarget['kind'], options: URLSearchParams): RedisTarget['reads'] | undefined {
  const [name, ...values] = READS[kind] ?? []
  const isForeign = ['role', 'scaleReads'].some(other => other !== name && options.has(other))
  const value = (name && options.get(name)) ?? 'primary'
  return isForeign || (value !== 'primary' && !values.includes(value))
    ? undefined
    : (value as RedisTarget['reads'])
}

/** A target for people to read, in logs and errors: without credentials. */
export function describeTarget({ kind, hosts, tls, sentinelName, db }: RedisTarget): string {
  const scheme = kind === 'single' ? (tls ? 'rediss' : 'redis') : `redis+${kind}`
  const path = sentinelName ?? (db === 0 ? undefined : String(db))
  const list = hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',')
  return `${scheme}://${list}${path === undefined ? '' : `/${path}`}`
}

function isKnownScheme(scheme: string): scheme is keyof typeof KINDS {
  return Object.hasOwn(KINDS, scheme)
}

function parseHost(text: string, defaultPort: number): RedisHost | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/.exec(text)
  const host = match?.[1] ?? match?.[2]
  const port = match?.[3] === undefined ? defaultPort : Number(match[3])
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}

function parseCredentials(
  userinfo: string,
): { username: string | undefined; password: string | undefined } | undefined {
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
