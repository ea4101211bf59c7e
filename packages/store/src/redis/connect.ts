import { EventEmitter, once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { KimchiError, type Milliseconds } from '@kimchi/core'
import { Cluster, type Redis } from 'ioredis'
import { type ConnectOptions, createClient, reconnectDelay } from './ioredis-client.ts'
import { problemError, reasonOf, toRedisError } from './redis-error.ts'
import { parseRedisUrl, type RedisTarget, URL_FORMS } from './redis-url.ts'

export type RedisArgument = string | number | Buffer

/** Why commands can't be sent now, for people, without credentials; undefined when they can. */
export type Problem = string | undefined

/**
 * Opens a connection that reconnects by itself. Returns at once, whether or not Redis is there.
 *
 * @throws KimchiError `KIMCHI_ERR_CONFIG` when the URL has none of the known forms
 */
export function openRedis(url: string, options: ConnectOptions = {}): RedisConnection {
  const target = parseRedisUrl(url)
  if (target === undefined) throw new KimchiError('KIMCHI_ERR_CONFIG', `REDIS_URL must be ${URL_FORMS}`)
  const redis = new RedisConnection(target, options)
  redis.open()
  return redis
}

/**
 * A Redis, whichever way it is set up. Reconnects until it is closed; a command fails at once while Redis is
 * away, so that the caller decides what to keep. Every failure is a KimchiError: `KIMCHI_ERR_REDIS`,
 * `KIMCHI_ERR_REDIS_REFUSES`, or what the library refused.
 */
export class RedisConnection {
  /** For logs: the URL without credentials and options. */
  readonly target: string
  readonly #address: RedisTarget
  readonly #options: ConnectOptions
  readonly #client: Redis | Cluster
  readonly #events = new EventEmitter()
  #problem: Problem
  #revival: NodeJS.Timeout | undefined
  #subscriber: RedisConnection | undefined

  constructor(address: RedisTarget, options: ConnectOptions) {
    this.target = address.label
    this.#address = address
    this.#options = options
    this.#problem = `${this.target}: connecting`
    this.#client = createClient(address, options)
    this.#client.on('ready', () => this.#report(undefined))
    // Without a listener an `error` event would end the program.
    this.#client.on('error', error => {
      // A failed write only follows from the error before.
      if (this.#problem && !/isn't writeable/.test(error.message)) this.#report(reasonOf(error))
    })
    this.#client.on('connect', () => {
      if (this.#problem)
        this.#report(`connected, but it is not ready, e.g. still loading its data${this.#named()}`)
    })
    this.#client.on('close', () => {
      if (!this.#problem) this.#report('connection lost')
    })
    this.#client.on('end', () => this.#report('connection closed'))
    this.#client.on('end', this.#revive)
  }

  problem(): Problem {
    return this.#problem
  }

  /** Calls `listener` whenever commands can be sent again or no longer, until {@link close}. */
  onChange(listener: (problem: Problem) => void): void {
    this.#events.on('change', listener)
  }

  /** Resolves when commands can be sent, or after `timeoutMs` or when `signal` aborts; true when they can. */
  async untilReady(timeoutMs: Milliseconds, signal?: AbortSignal): Promise<boolean> {
    if (this.#problem === undefined) return true
    const over = new AbortController()
    const change = once(this.#events, 'change', { signal: over.signal })
    const { wait = waitUnreferenced } = this.#options
    await Promise.race([change, wait(timeoutMs, signal)]).catch(() => {})
    over.abort()
    return this.#problem === undefined
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

  /** Listens to one channel, on a second connection to the same target, until {@link close}. */
  subscribe(
    channel: string,
    onMessage: (message: string) => void,
    onChange: (problem: Problem) => void,
  ): void {
    const subscriber = new RedisConnection(this.#address, this.#options)
    this.#subscriber = subscriber
    subscriber.#client.on('message', (_channel: string, message: string) => onMessage(message))
    subscriber.onChange(problem => {
      // Subscribed again after every reconnect; only then does the listener hear that messages flow.
      if (problem) return onChange(problem)
      subscriber.#client.subscribe(channel).then(
        () => onChange(undefined),
        error => onChange(`${this.target}: ${reasonOf(error)}`),
      )
    })
    subscriber.open()
  }

  /** Connects, and from then on reconnects by itself until it is closed. */
  open(): void {
    // The client reports a failed attempt as an event as well.
    this.#client.connect().catch(() => {})
  }

  async close(): Promise<void> {
    this.#events.removeAllListeners()
    this.#client.off('end', this.#revive)
    clearTimeout(this.#revival)
    this.#client.disconnect()
    await this.#subscriber?.close()
  }

  /** Where a Cluster says that its nodes are: commands go there, not to the addresses of the URL. */
  #named(): string {
    if (!(this.#client instanceof Cluster)) return ''
    const nodes = this.#client.nodes().map(({ options: { host, port } }) => `${host}:${port}`)
    if (nodes.length > 0)
      return `, or unreachable at the addresses that CLUSTER SLOTS names: ${nodes.join(', ')}`
    return ': CLUSTER SLOTS names no address of any node, see cluster-announce-ip and cluster-announce-hostname'
  }

  #report(trouble: string | undefined): void {
    const before = this.#problem
    this.#problem = trouble && `${this.target}: ${trouble}`
    if (!before !== !trouble) this.#events.emit('change', this.#problem)
  }

  /** Behind Sentinel the client gives up when a failover is announced while it asks for the primary. */
  readonly #revive = (): void => {
    this.#revival = setTimeout(() => this.open(), reconnectDelay(0, this.#options.random))
  }

  async #send(on: Redis | Cluster, method: 'call' | 'callBuffer', command: string, args: RedisArgument[]) {
    // The client's own error would say that it cannot write, but not why.
    if (this.#problem) throw problemError(this.#problem)
    try {
      // The client knows the commands, and which of them only read, by their names in small letters.
      return await on[method](command.toLowerCase(), args)
    } catch (error) {
      throw toRedisError(error, this.target)
    }
  }
}

function waitUnreferenced(ms: Milliseconds, signal?: AbortSignal): Promise<void> {
  return delay(ms, undefined, { signal, ref: false })
}
