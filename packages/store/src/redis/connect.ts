import { EventEmitter, once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { KimchiError, type Milliseconds, messageOf } from '@kimchi/core'
import { Cluster, type Redis } from 'ioredis'
import { type ConnectOptions, createClient, reconnectDelay } from './client.ts'
import { toRedisError } from './redis-error.ts'
import { describeTarget, parseRedisUrl, type RedisTarget, URL_FORMS } from './redis-url.ts'

/** What may be sent with a command. */
export type RedisArgument = string | number | Buffer

/** Whether commands can be sent now, and if not, why: the newest trouble, for people, without credentials. */
export type ConnectionStatus =
  | { readonly ready: true; readonly reason: undefined }
  | { readonly ready: false; readonly reason: string }

/**
 * Opens a connection that reconnects by itself. Returns at once, whether or not Redis is there.
 *
 * @throws KimchiError `KIMCHI_ERR_CONFIG` when the URL has none of the known forms
 */
export function openRedis(url: string, options: ConnectOptions = {}): RedisConnection {
  const target = parseRedisUrl(url)
  if (target !== undefined) return new RedisConnection(target, options)
  throw new KimchiError('KIMCHI_ERR_CONFIG', `REDIS_URL must be ${URL_FORMS}`)
}

/**
 * A Redis, whichever way it is set up. Reconnects until it is closed; a command fails at once while Redis is
 * away, so that the caller decides what to keep. Every failure is a KimchiError `KIMCHI_ERR_REDIS` (or what
 * the library refused).
 */
export class RedisConnection {
  /** For logs: the URL without credentials. */
  readonly target: string
  readonly #address: RedisTarget
  readonly #options: ConnectOptions
  readonly #client: Redis | Cluster
  readonly #events = new EventEmitter()
  #status: ConnectionStatus
  #revival: NodeJS.Timeout | undefined

  constructor(address: RedisTarget, options: ConnectOptions) {
    this.target = describeTarget(address)
    this.#address = address
    this.#options = options
    this.#status = { ready: false, reason: `${this.target}: connecting` }
    this.#client = createClient(address, options)
    this.#client.on('ready', () => this.#report(undefined))
    // Without a listener an `error` event would end the program.
    this.#client.on('error', error => this.#status.ready || this.#report(reasonOf(error)))
    this.#client.on('connect', () => {
      if (!this.#status.ready) this.#report('connected, but it is not ready, e.g. still loading its data')
    })
    this.#client.on('close', () => this.#status.ready && this.#report('connection lost'))
    this.#client.on('end', () => this.#report('connection closed'))
    this.#client.on('end', this.#revive)
  }

  status(): ConnectionStatus {
    return this.#status
  }

  /** Calls `listener` on every change between ready and not ready; returns a function that stops it. */
  onStatus(listener: (status: ConnectionStatus) => void): () => void {
    this.#events.on('change', listener)
    return () => void this.#events.off('change', listener)
  }

  /** Resolves when commands can be sent, or after `timeoutMs` or when `signal` aborts; true when they can. */
  async untilReady(timeoutMs: Milliseconds, signal?: AbortSignal): Promise<boolean> {
    if (this.#status.ready) return true
    const over = new AbortController()
    const change = once(this.#events, 'change', { signal: over.signal })
    await Promise.race([change, wait(timeoutMs, undefined, { signal, ref: false })]).catch(() => {})
    over.abort()
    return this.#status.ready
  }

  /** Sends a command; the answer's strings are decoded as UTF-8. */
  call(command: string, ...args: RedisArgument[]): Promise<unknown> {
    return this.#send(this.#client, 'call', command, args)
  }

  /** Sends a command; the answer's strings are bytes. */
  callBuffer(command: string, ...args: RedisArgument[]): Promise<unknown> {
    return this.#send(this.#client, 'callBuffer', command, args)
  }

  /**
   * Runs something on every primary at once: the one server, or each primary of a Cluster. Resolves with the
   * errors of those that failed, and rejects when all did.
   */
  async callPrimaries(run: (call: RedisConnection['call']) => Promise<void>): Promise<readonly unknown[]> {
    const primaries = this.#client instanceof Cluster ? this.#client.nodes('master') : [this.#client]
    const outcomes = await Promise.allSettled(
      primaries.map(primary => run((command, ...args) => this.#send(primary, 'call', command, args))),
    )
    const errors = outcomes.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason] : []))
    if (errors.length > 0 && errors.length === primaries.length) throw errors[0]
    return errors
  }

  /** Listens on a second connection to the same target, until that one is closed. */
  subscribe(
    channel: string,
    onMessage: (message: string) => void,
    onStatus: (status: ConnectionStatus) => void,
  ): Pick<RedisConnection, 'close'> {
    const name = `${this.#options.name ?? 'kimchi'}-subscriber`
    const subscriber = new RedisConnection(this.#address, { ...this.#options, name })
    subscriber.#client.on('message', (heard: string, message: string) => {
      if (heard === channel) onMessage(message)
    })
    subscriber.onStatus(status => {
      // Subscribed again after every reconnect; only then does the listener hear that messages flow.
      if (!status.ready) return onStatus(status)
      subscriber.#client.subscribe(channel).then(
        () => onStatus(status),
        error => onStatus({ ready: false, reason: `${this.target}: ${reasonOf(error)}` }),
      )
    })
    return subscriber
  }

  async close(): Promise<void> {
    this.#client.off('end', this.#revive)
    clearTimeout(this.#revival)
    this.#client.disconnect()
  }

  #report(trouble: string | undefined): void {
    const wasReady = this.#status.ready
    const isReady = trouble === undefined
    this.#status = isReady
      ? { ready: true, reason: undefined }
      : { ready: false, reason: `${this.target}: ${trouble}` }
    if (isReady !== wasReady) this.#events.emit('change', this.#status)
  }

  /** Behind Sentinel the client gives up when a failover is announced while it asks for the primary. */
  readonly #revive = (): void => {
    // The client reports a failed attempt as an event as well.
    const connect = () => this.#client.connect().catch(() => {})
    this.#revival = setTimeout(connect, reconnectDelay(0, this.#options.random))
  }

  async #send(on: Redis | Cluster, method: 'call' | 'callBuffer', command: string, args: RedisArgument[]) {
    // The client's own error would say that it cannot write, but not why.
    if (!this.#status.ready) throw new KimchiError('KIMCHI_ERR_REDIS', this.#status.reason)
    try {
      // The client knows the commands, and which of them only read, by their names in small letters.
      return await on[method](command.toLowerCase(), args)
    } catch (error) {
      throw toRedisError(error, this.target)
    }
  }
}

/** A Cluster says "all nodes failed" and keeps the reason in `lastNodeError`; a refused connection has no text. */
function reasonOf(error: unknown): string {
  const { lastNodeError, code } = error as { lastNodeError?: Error; code?: string }
  const text = messageOf(error) || code || 'connection failed'
  return lastNodeError === undefined ? text : `${text} (${lastNodeError.message})`
}
