import { KimchiError, type KimchiErrorCode, messageOf } from '@kimchi/core'

/** The loaded library misses a function or is older than the caller needs; only a writer can load it. */
const LIBRARY_ABSENT = /Function not found|^KIMCHI_LIBRARY /

const RETRYABLE: readonly KimchiErrorCode[] = [
  'KIMCHI_ERR_REDIS',
  'KIMCHI_ERR_REDIS_REFUSES',
  'KIMCHI_ERR_NOT_READY',
]

/** Errors of a server that can't serve for a while, and will again without anybody's help. */
const AWAY = /^(LOADING|READONLY|NOREPLICAS|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY) /

/** The remedy for a right that the user lacks. */
const GRANT = 'give this user the rights of deploy/redis/users.acl, then run: redis-cli ACL LOAD'

/**
 * Whether trying again may help: Redis was away, slow, loading, read-only or not set up yet, or it refused, because
 * it is full or a user lacks a right. Anything else (`KIMCHI_ERR_PRICES_KIND`, `KIMCHI_ERR_LAYOUT`, `KIMCHI_ERR_CODEC`)
 * stays wrong until a person acts.
 */
export function isRetryable(error: unknown): boolean {
  return error instanceof KimchiError && RETRYABLE.includes(error.code)
}

/**
 * What went wrong with a command, as a KimchiError without secrets. The client's own error is not kept as
 * cause: it holds the command with its arguments, AUTH among them.
 */
export function toRedisError(thrown: unknown, where: string): KimchiError {
  const message = reasonOf(thrown)
  if (message.startsWith('KIMCHI_PRICES_KIND '))
    return new KimchiError('KIMCHI_ERR_PRICES_KIND', textOf(message))
  if (message.startsWith('KIMCHI_LAYOUT ')) return new KimchiError('KIMCHI_ERR_LAYOUT', textOf(message))
  if (message.startsWith('KIMCHI_ARGUMENT ')) return new KimchiError('KIMCHI_ERR_CODEC', textOf(message))
  if (LIBRARY_ABSENT.test(message)) {
    return new KimchiError('KIMCHI_ERR_NOT_READY', `${where}: function library absent or old (${message})`)
  }
  const isReply = thrown instanceof Error && thrown.name === 'ReplyError'
  if (!isReply || AWAY.test(message)) return new KimchiError('KIMCHI_ERR_REDIS', `${where}: ${message}`)
  const help = message.startsWith('NOPERM ') ? `; ${GRANT}` : ''
  return new KimchiError('KIMCHI_ERR_REDIS_REFUSES', `${where}: ${message}${help}`)
}

/** Whether Redis is there and refuses, until a person acts: it is full, a password is wrong, a right is missing. */
export function isRefusal(error: unknown): boolean {
  return error instanceof KimchiError && error.code === 'KIMCHI_ERR_REDIS_REFUSES'
}

/** The error of a command on a connection that is down, or that the server does not let in. */
export function problemError(problem: string): KimchiError {
  const isLogin = / (WRONGPASS|NOAUTH|NOPERM) /.test(problem)
  return new KimchiError(isLogin ? 'KIMCHI_ERR_REDIS_REFUSES' : 'KIMCHI_ERR_REDIS', problem)
}

/** How a write fails when the server has closed the connection before it read a command. */
const CLOSED_AT_ONCE = ['EPIPE', 'ECONNRESET']

/** A Cluster says "all nodes failed" and keeps the reason in `lastNodeError`. */
export function reasonOf(error: unknown): string {
  const { lastNodeError, code, syscall } = error as { lastNodeError?: Error; code?: string; syscall?: string }
  if (syscall === 'write' && code !== undefined && CLOSED_AT_ONCE.includes(code))
    return `the server closed the connection before it read a command: its max number of clients may be reached (${code})`
  const text = messageOf(error)
  if (text.startsWith('WRONGPASS ')) return `${text} (in a URL user and password are percent-encoded)`
  // The answer does not begin as Redis' protocol does: a web server may have sent it.
  if (text.startsWith('Unknown RESP type')) return 'what answers there is not a Redis'
  return lastNodeError === undefined ? text : `${text} (${messageOf(lastNodeError)})`
}

/** The library's sentence, without its code and without the place in the library that Redis adds. */
function textOf(message: string): string {
  return message.slice(message.indexOf(' ') + 1).replace(/ script: \w+, on @user_function:\d+\.$/, '')
}
