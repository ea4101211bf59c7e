import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { KimchiError, messageOf } from '@kimchi/core'
import { noteServer, openDataDirLock } from './data-dir-lock.ts'
import { freePort, isPortFree } from './port.ts'
import type { RedisBinary } from './programs.ts'

const HOST = '127.0.0.1'
const LOG = 'redis.log'

/** How long a server may take to answer: it loads a large append-only file first. */
const START_TIMEOUT_MS = 60_000

/** Time between SIGTERM and SIGKILL. */
const STOP_TIMEOUT_MS = 3_000

/** How an embedded server is started. */
export interface EmbeddedRedisOptions {
  readonly binary: RedisBinary
  /** Data folder, created when missing; also holds the server's log, `redis.log`. */
  readonly dir: string
  /** @default 0, any free port */
  readonly port?: number
  /** Append-only file, synced every second. @default true */
  readonly appendonly?: boolean
  /** More of redis-server's own arguments. */
  readonly args?: readonly string[]
}

/** How a server ended. */
export interface RedisExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A running server that belongs to this program. */
export class EmbeddedRedis {
  readonly port: number
  readonly url: string
  /** The command that opens a prompt on it; undefined without a redis-cli. */
  readonly cliCommand: string | undefined
  /** Resolves when the server is gone, for whatever reason. */
  readonly exited: Promise<RedisExit>
  readonly #child: ChildProcess

  constructor(child: ChildProcess, port: number, cli: string | undefined) {
    this.#child = child
    this.port = port
    this.url = `redis://${HOST}:${port}`
    this.cliCommand = cli === undefined ? undefined : `${quoted(cli)} -p ${port}`
    this.exited = new Promise(settle => {
      child.once('exit', (code, signal) => settle({ code, signal }))
    })
  }

  /** Ends the server, its append-only file synced, and resolves when it is gone. May be called again. */
  async stop(): Promise<RedisExit> {
    this.kill('SIGTERM')
    this.kill('SIGCONT')
    const timer = setTimeout(() => this.kill('SIGKILL'), STOP_TIMEOUT_MS)
    return this.exited.finally(() => clearTimeout(timer))
  }

  /** Sends any signal. */
  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }
}

/**
 * Starts a private server on 127.0.0.1 and resolves when it answers, its data loaded. It never outlives this
 * program, even when this program is SIGKILLed, and a Ctrl-C in the terminal does not reach it.
 *
 * @throws KimchiError `KIMCHI_ERR_REDIS` when the port is taken (`cause.code` is `EADDRINUSE`), the folder is in
 *   use by another server, or the server does not come up; with the last lines of its log
 */
export async function startEmbeddedRedis(options: EmbeddedRedisOptions): Promise<EmbeddedRedis> {
  const dir = resolve(options.dir)
  await mkdir(dir, { recursive: true })
  const lock = await openDataDirLock(dir)
  try {
    const port = options.port || (await freePort())
    if (!(await isPortFree(port))) throw portTaken(port)
    const child = spawnServer(options, dir, port, lock.fd)
    const redis = new EmbeddedRedis(child, port, options.binary.cli)
    await once(child, 'spawn').catch(error => {
      throw new KimchiError('KIMCHI_ERR_REDIS', `${options.binary.server} did not start: ${messageOf(error)}`)
    })
    const watcher = spawnWatcher(Number(child.pid))
    void redis.exited.then(() => watcher.kill('SIGKILL'))
    await noteServer(lock, Number(child.pid), port)
    // Only now: a server that ends at once would have the lock file closed while it is written.
    void redis.exited.then(() => lock.close())
    if (await isReady(child, port)) return redis
    const isRunning = child.exitCode === null && child.signalCode === null
    const { code, signal } = await redis.stop()
    const how = isRunning
      ? `did not answer within ${START_TIMEOUT_MS} ms`
      : `ended at start (${signal ?? `exit code ${code}`})`
    throw await startError(port, dir, how)
  } catch (error) {
    await lock.close()
    throw error
  }
}

function spawnServer(
  { binary, appendonly = true, args = [] }: EmbeddedRedisOptions,
  dir: string,
  port: number,
  lockFd: number,
): ChildProcess {
  const settings = [
    ...['--bind', HOST, '--port', String(port), '--dir', dir],
    ...['--save', '', '--appendonly', appendonly ? 'yes' : 'no', '--appendfsync', 'everysec'],
    ...args,
  ]
  // What it complains of before it reads its settings belongs into its log, too.
  const log = openSync(join(dir, LOG), 'a')
  // In a session of its own (detached), a Ctrl-C in the terminal does not end it before the apps have flushed.
  const child = spawn(binary.server, settings, { detached: true, stdio: ['ignore', log, log, lockFd] })
  closeSync(log)
  return child
}

/**
 * Ends the server when this program is gone: a shell reads from a pipe that only this program holds open; the
 * pipe closes however this program dies. A stopped (SIGSTOP) server sees SIGTERM only after SIGCONT.
 */
function spawnWatcher(pid: number): ChildProcess {
  const script = `read -r _; kill -TERM ${pid}; kill -CONT ${pid}; sleep 3; kill -KILL ${pid}`
  const watcher = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  watcher.unref()
  ;(watcher.stdin as Socket).unref()
  return watcher
}

/** Whether the server comes to answer; false when it has ended, or after a minute. */
async function isReady(child: ChildProcess, port: number): Promise<boolean> {
  const deadline = performance.now() + START_TIMEOUT_MS
  while (performance.now() < deadline && child.exitCode === null && child.signalCode === null) {
    const answer = await ask(port, 'PING\r\nINFO server\r\n')
    // While it loads it answers LOADING. Another program may have taken the port: the process id must be ours.
    if (answer.startsWith('+PONG') && answer.includes(`process_id:${child.pid}\r\n`)) return true
    await wait(20)
  }
  return false
}

async function ask(port: number, commands: string): Promise<string> {
  const socket = connect({ port, host: HOST, timeout: 1_000 })
  socket.on('timeout', () => socket.destroy())
  socket.write(commands)
  let answer = ''
  try {
    for await (const chunk of socket) {
      answer += chunk
      if (!answer.startsWith('+PONG') || answer.includes('process_id:')) break
    }
  } catch {
    // It does not listen yet, or does not answer.
  }
  return answer
}

/** A path as a shell reads it. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}

async function startError(port: number, dir: string, how: string): Promise<KimchiError> {
  const log = await readFile(join(dir, LOG), 'utf8')
  const end = log.trim().split('\n').slice(-5).join('\n')
  if (end.includes('Address already in use')) return portTaken(port)
  return new KimchiError('KIMCHI_ERR_REDIS', `Redis in ${dir} ${how}:\n${end}`)
}

function portTaken(port: number): KimchiError {
  return new KimchiError('KIMCHI_ERR_REDIS', `Port ${port} on ${HOST} is taken by another program`, {
    cause: Object.assign(new Error('address in use'), { code: 'EADDRINUSE' }),
  })
}
