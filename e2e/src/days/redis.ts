import { EventEmitter } from 'node:events'
import { type EpochMs, MINUTE_MS, type Milliseconds } from '@kimchi/core'
import type { Network } from '@kimchi/ingester'
import { startRedis, type Teardown } from '@kimchi/testkit'
import { standingClock } from '../faketime.ts'
import type { Host, World } from './world.ts'

type OpenClient = NonNullable<Network['redis']['openClient']>
type Run = (
  method: 'call' | 'callBuffer',
  command: string,
  args: readonly (string | Buffer)[],
) => Promise<unknown>

/** As the service asks of its real client. */
const COMMAND_TIMEOUT_MS: Milliseconds = 2_000
const DEAD_AFTER_MS: Milliseconds = 5_000
const RECONNECT_MS: Milliseconds = 1_000
const FREE_MS: Milliseconds = 1

/** A real redis-server whose time is the world's, on a network of the world. */
export type DayRedis = Awaited<ReturnType<typeof openDayRedis>>

/** Starts the server once for many days. */
export async function startDayServer(t: Teardown) {
  const redis = await startRedis(t, { args: ['--enable-debug-command', 'yes'] })
  await redis.stop()
  // It inherits its clock. What looks for the program, and fetches it, must not.
  const own = { ...process.env }
  Object.assign(process.env, standingClock.env)
  await redis.restart()
  process.env = own
  // By this protocol a client may command and subscribe too: what a command publishes comes with its reply.
  const raw = redis.client({ protocol: 3 })
  const pid = /process_id:(\d+)/.exec(await raw.info('server'))?.[1]
  return { raw, clock: standingClock.of(Number(pid)) }
}

/** Empties the server and gives it the world's time. */
export async function openDayRedis(world: World, server: Awaited<ReturnType<typeof startDayServer>>) {
  const { raw, clock } = server
  let setTo = 0
  let messages: string[] = []
  const onMessage = (_channel: string, message: string) => messages.push(message)
  raw.on('message', onMessage)
  await raw.subscribe('{kp}:minute')
  const links = new Set<Link>()
  const state = {
    isUp: true,
    /** When it was last away, or connections to it were cut. */
    upSince: 0,
    /** What it answers to writes, where it is loading its data to all calls; undefined where it takes them. */
    refusal: undefined as string | undefined,
    /** How many replies to writes are lost from now on. */
    lostReplies: 0,
    /** When it last lost writes, and when its writer noticed; infinite until then. Docs/faults.md, 109. */
    lostAt: 0,
    noticedAt: 0,
    commands: 0,
  }
  const setTime = async () => {
    // The library reads whole seconds.
    const second = Math.floor(world.now / 1_000) * 1_000
    if (setTo === second) return
    setTo = second
    // A look that was under way is over when the server answers.
    do {
      clock.set(setTo)
      await raw.ping()
    } while (!clock.standsAt(setTo))
  }
  /** One command at a time: who comes first at the server never depends on the machine. */
  const run: Run = async (method, command, args) => {
    state.commands += 1
    await setTime()
    const { refusal } = state
    if (refusal && (command === 'fcall' || (command === 'fcall_ro' && refusal.startsWith('LOADING'))))
      throw Object.assign(new Error(refusal), { name: 'ReplyError' })
    const reply = await raw[method](command, ...args)
    const published = messages
    messages = []
    if (published.some(minute => Number(minute) * MINUTE_MS > state.lostAt))
      state.noticedAt = Math.min(state.noticedAt, world.now)
    for (const link of links) for (const message of published) link.publish(message)
    return reply
  }
  /** What an operator does to it. */
  const admin = async (command: string, ...args: string[]) => {
    await setTime()
    await raw.call(command, ...args)
  }
  await admin('FLUSHALL')
  await admin('FUNCTION', 'FLUSH')
  /** Cuts the connections of a host, or of all. */
  const cut = (host?: Host) => {
    state.upSince = world.now
    for (const link of links) if (host === undefined || link.host === host) link.lose()
  }
  /** Redis as this host reaches it: over links of its own, which can be cut, and by its own waits. */
  const networkOf = (host: Host): Network['redis'] => ({
    openClient: () => {
      const link = new Link(host, state, run)
      links.add(link)
      link.once('end', () => links.delete(link))
      return link as unknown as ReturnType<OpenClient>
    },
    wait: host.wait.bind(host),
  })
  return {
    raw,
    state,
    networkOf,
    admin,
    /**
     * Brings back what was stored at the last SAVE: a server that lacks the last writes.
     * @param isCut or else the primary changes behind connections that stay: who writes the next minute sees it
     * @param backAt when the first of those who write is not paused
     */
    reload: async (isCut: boolean, backAt: EpochMs) => {
      await admin('DEBUG', 'RELOAD', 'NOSAVE')
      await admin('DEBUG', 'CHANGE-REPL-ID')
      Object.assign(state, { lostAt: world.now, noticedAt: isCut ? backAt : Number.POSITIVE_INFINITY })
      if (isCut) cut()
    },
    /** Whether it does what it is asked for. */
    isWell: () => state.isUp && state.refusal === undefined,
    cut,
    /** Connections that are not closed. */
    links: links as ReadonlySet<EventEmitter>,
    close: () => void raw.off('message', onMessage),
  }
}

/** One client's connection, as ioredis shows it: commands fail at once while it is away. */
class Link extends EventEmitter {
  readonly host: Host
  /** How to reject the commands that are under way. */
  readonly #pending = new Set<(error: Error) => void>()
  readonly #state: DayRedis['state']
  readonly #run: Run
  readonly #world: World
  #isOpen = false
  #isSubscribed = false
  #isClosed = false
  /** Which connection this is: what belongs to an older one is lost. */
  #number = 0
  readonly #arrival = { there: 0, back: 0 }

  constructor(host: Host, state: DayRedis['state'], run: Run) {
    super()
    this.host = host
    this.#state = state
    this.#run = run
    this.#world = host.world
  }

  async connect(): Promise<void> {
    this.#attempt(FREE_MS)
  }

  disconnect(): void {
    this.#isClosed = true
    this.#end()
    this.emit('end')
  }

  call(command: string, args: readonly (string | Buffer)[]): Promise<unknown> {
    return this.#send('call', command, args)
  }

  callBuffer(command: string, args: readonly (string | Buffer)[]): Promise<unknown> {
    return this.#send('callBuffer', command, args)
  }

  async subscribe(channel: string): Promise<unknown> {
    const reply = await this.#send('call', 'echo', [channel])
    this.#isSubscribed = true
    return reply
  }

  publish(message: string): void {
    if (this.#isSubscribed) this.#carry('back', () => this.emit('message', '{kp}:minute', message))
  }

  /** The connection breaks: nobody knows whether the server has done what was asked. */
  lose(): void {
    if (!this.#isOpen) return
    this.#end()
    this.emit('close')
    this.#attempt(RECONNECT_MS)
  }

  #end(): void {
    this.#isOpen = false
    this.#isSubscribed = false
    this.#number += 1
    for (const reject of this.#pending) reject(new Error('Connection is closed.'))
    this.#pending.clear()
  }

  #attempt(ms: Milliseconds): void {
    const attempt = () => {
      if (this.#isClosed || this.#isOpen) return
      if (this.#state.isUp && !this.host.isDead) {
        this.#isOpen = true
        this.emit('connect')
        this.emit('ready')
      } else {
        this.emit('error', new Error('connect ECONNREFUSED'))
        this.#attempt(RECONNECT_MS)
      }
    }
    this.#world.after(ms, attempt, this.host)
  }

  /** Packets of one connection and direction don't overtake each other. */
  #carry(way: 'there' | 'back', arrive: () => unknown): void {
    const sentAt = this.#world.now + this.host.network.between(0, 2)
    this.#arrival[way] = Math.max(sentAt, this.#arrival[way])
    const receiver = way === 'back' ? this.host : undefined
    this.#world.at(this.#arrival[way], this.#onThisConnection(arrive), receiver)
  }

  /** What belongs to an older connection doesn't happen. */
  #onThisConnection(happen: () => unknown): () => unknown {
    const number = this.#number
    return () => (number === this.#number ? happen() : undefined)
  }

  #send(...command: Parameters<Run>): Promise<unknown> {
    if (!this.#isOpen) return Promise.reject(new Error("Stream isn't writeable"))
    return new Promise((resolve, reject) => {
      this.#pending.add(reject)
      const settle = (act: () => void) => {
        if (this.#pending.delete(reject)) act()
      }
      const timeout = () => settle(() => reject(new Error('Command timed out')))
      this.#world.after(COMMAND_TIMEOUT_MS, timeout, this.host)
      this.#carry('there', async () => {
        const act = await this.#run(...command).then(
          reply => () => resolve(reply),
          error => () => reject(error),
        )
        if (this.#state.lostReplies > 0 && command[1] === 'fcall') {
          this.#state.lostReplies -= 1
          this.#world.after(
            DEAD_AFTER_MS,
            this.#onThisConnection(() => this.lose()),
            this.host,
          )
        } else this.#carry('back', () => settle(act))
      })
    })
  }
}
