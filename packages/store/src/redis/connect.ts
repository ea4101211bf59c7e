import { KimchiError, type Milliseconds, messageOf } from '@kimchi/core'
import { Cluster, type Redis } from 'ioredis'
import { type Client, type ConnectOptions, openClient } from './client.ts'
import { toRedisError } from './redis-error.ts'
import { describeTarget, parseRedisUrl, READING_FORMS, type RedisTarget } from './redis-url.ts'

/** What may be sent with a command. */
export type RedisArgument = string | number | Buffer

/** Whether commands can be sent now, and if not, why. */
export interface ConnectionStatus {
  readonly ready: boolean
  /** The newest trouble, for people; without credentials. */
  readonly reason: string | undefined
}

/** A subscription on its own connection. */
export interface Subscription {
  close(): void
}

/**
 * Opens a connection that reconnects by itself: it resolves nothing and throws nothing when Redis is away.
 *
 * @throws KimchiError `KIMCHI_ERR_CONFIG` when the URL is not one of the known forms
 */
export function openRedis(url: string, options: ConnectOptions = {}): RedisConnection {
  const target = parseRedisUrl(url)
  if (target !== undefined) return new RedisConnection(target, options)
  throw new KimchiError('KIMCHI_ERR_CONFIG', `REDIS_URL must be ${READING_FORMS}`)
}

/** What the client says of a command that it could not send; why is known from the connection's state. */
const UNSENT = /^Stream isn't writeable/

/**
 * A Redis, whichever way it is set up. Reconnects until it is closed; a command while it is away fails at
 * once, so that the caller decides what to keep. Every failure is a KimchiError `KIMCHI_ERR_REDIS` (or what
 * the library refused).
 */
export class RedisConnection {
  /** For logs: the URL without credentials. */
  readonly target: string
  readonly #address: RedisTarget
  readonly #options: ConnectOptions
  readonly #link: Client
  readonly #states: States

  constructor(address: RedisTarget, options: ConnectOptions) {
    this.target = describeTarget(address)
    this.#address = address
    this.#options = options
    this.#link = openClient(address, options)
    this.#states = watchState(this.#link.client, this.target)
  }

  status(): ConnectionStatus {
    return this.#states.current()
  }

  /** Calls `listener` on every change between ready and not ready; returns how to stop that. */
  onStatus(listener: (status: ConnectionStatus) => void): () => void {
    return this.#states.listen(listener)
  }

  /** Resolves when commands can be sent, or after `timeoutMs` or when `signal` aborts, telling which. */
  untilReady(timeoutMs: Milliseconds, signal?: AbortSignal): Promise<boolean> {
    return new Promise(settle => {
      const finish = () => {
        clearTimeout(timer)
        stop()
        signal?.removeEventListener('abort', finish)
        settle(this.status().ready)
      }
      const timer = setTimeout(finish, timeoutMs)
      const stop = this.onStatus(finish)
      signal?.addEventListener('abort', finish)
      if (this.status().ready || signal?.aborted) finish()
    })
  }

  /** Sends a command; the answer's strings are decoded as UTF-8. */
  call(command: string, ...args: RedisArgument[]): Promise<unknown> {
    return this.#send(this.#link.client, 'call', command, args)
  }

  /** Sends a command; the answer's strings are bytes. */
  callBuffer(command: string, ...args: RedisArgument[]): Promise<unknown> {
    return this.#send(this.#link.client, 'callBuffer', command, args)
  }

  /**
   * Runs something on every primary at once: one server, or each primary of a Cluster. Resolves with the errors
   * of those that failed, and rejects when all did.
   */
  async callPrimaries(run: (call: RedisConnection['call']) => Promise<void>): Promise<readonly unknown[]> {
    const { client } = this.#link
    const primaries = client instanceof Cluster ? client.nodes('master') : [client]
    const outcomes = await Promise.allSettled(
      primaries.map(primary => run((command, ...args) => this.#send(primary, 'call', command, args))),
    )
    const errors = outcomes.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason] : []))
    if (errors.length > 0 && errors.length === primaries.length) throw errors[0]
    return errors
  }

  /** A second connection to the same target, e.g. for a subscription. */
  subscribe(
    channel: string,
    onMessage: (message: string) => void,
    onStatus: (status: ConnectionStatus) => void,
  ): Subscription {
    const name = `${this.#options.name ?? 'kimchi'}-subscriber`
    const { client, close } = openClient(this.#address, { ...this.#options, name })
    client.on('message', (heard: string, message: string) => {
      if (heard === channel) onMessage(message)
    })
    watchState(client, this.target).listen(state => {
      // Subscribed again after every reconnect; only then does the listener hear that messages flow.
      if (!state.ready) return onStatus(state)
      client.subscribe(channel).then(
        () => onStatus(state),
        error => onStatus({ ready: false, reason: `${this.target}: ${reasonOf(error)}` }),
      )
    })
    return { close }
  }

  async close(): Promise<void> {
    this.#link.close()
  }

  async #send(on: Redis | Cluster, method: 'call' | 'callBuffer', command: string, args: RedisArgument[]) {
    try {
      // The client knows commands by their small letters, and by their names which of them only read.
      return await on[method](command.toLowerCase(), args)
    } catch (error) {
      const { ready, reason } = this.status()
      throw !ready && reason !== undefined && UNSENT.test(messageOf(error))
        ? new KimchiError('KIMCHI_ERR_REDIS', reason)
        : toRedisError(error, this.target)
    }
  }
}

type States = ReturnType<typeof watchState>

/** Follows a client's events; an `error` event without a listener would end the program. */
function watchState(client: Redis | Cluster, where: string) {
  let state: ConnectionStatus = { ready: false, reason: `${where}: connecting` }
  const listeners = new Set<(state: ConnectionStatus) => void>()
  const change = (next: ConnectionStatus) => {
    const turned = next.ready !== state.ready
    state = next
    if (turned) for (const listener of listeners) listener(state)
  }
  client.on('ready', () => change({ ready: true, reason: undefined }))
  client.on('error', error => {
    if (!state.ready) change({ ready: false, reason: `${where}: ${reasonOf(error)}` })
  })
  client.on('connect', () => {
    const reason = `${where}: connected, but it is not ready, e.g. still loading its data`
    if (!state.ready) change({ ready: false, reason })
  })
  client.on('close', () => {
    if (state.ready) change({ ready: false, reason: `${where}: connection lost` })
  })
  client.on('end', () => change({ ready: false, reason: `${where}: connection closed` }))
  return {
    current: () => state,
    listen: (listener: (state: ConnectionStatus) => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/**
 * A Cluster says "all nodes failed" and keeps the reason in `lastNodeError`; a refused connection has no
 * text.
 */
function reasonOf(error: unknown): string {
  const { lastNodeError, code } = error as { lastNodeError?: Error; code?: string }
  const text = messageOf(error) || code || 'connection failed'
  return lastNodeError === undefined ? text : `${text} (${lastNodeError.message})`
}
