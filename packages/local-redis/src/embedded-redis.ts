import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { KimchiError, messageOf } from '@kimchi/core'
import { openDataDirLock } from './data-dir-lock.ts'
import { freePort, isPortFree } from './port.ts'
import type { RedisBinary } from './programs.ts'

const HOST = '127.0.0.1'

/** Loading a large append-only file takes a while. */
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
export interface EmbeddedRedis {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** What a person types to look inside; undefined without a redis-cli. */
  readonly cliCommand: string | undefined
  /** Resolves when the server is gone, for whatever reason. */
  readonly exited: Promise<RedisExit>
  /** Ends the server, its append-only file synced, and resolves when it is gone. May be called again. */
  stop(): Promise<RedisExit>
  /** Sends any signal. */
  kill(signal: NodeJS.Signals): void
}

/**
 * Starts a private server on 127.0.0.1 and resolves when it answers, its data loaded. It never outlives this
 * program, even when this program is SIGKILLed, and a Ctrl-C in the terminal does not reach it.
 *
 * @throws KimchiError `KIMCHI_ERR_REDIS` when the port is taken (`cause.code` is `EADDRINUSE`), the folder is in
 *   use by another server, or the server gives up; with the last lines of its log
 */
export async function startEmbeddedRedis(options: EmbeddedRedisOptions): Promise<EmbeddedRedis> {
  const dir = resolve(options.dir)
  await mkdir(dir, { recursive: true })
  const lock = await openDataDirLock(dir)
  try {
    const port = options.port || (await freePort())
    if (!(await isPortFree(port))) throw portTaken(port)
    const { pid, child, exited, complaints } = await launch(options, dir, port, lock.fd)
    await lock.note(pid, port)
    void exited.then(() => lock.close())
    let stopping: Promise<RedisExit> | undefined
    const stop = () => (stopping ??= stopServer(child, exited))
    try {
      await untilReady(pid, port, exited)
    } catch (error) {
      const exit = await stop()
      throw error instanceof KimchiError ? error : await gaveUp(port, dir, exit, complaints())
    }
    const { cli } = options.binary
    const cliCommand = cli === undefined ? undefined : `${cli} -p ${port}`
    return {
      url: `redis://${HOST}:${port}`,
      port,
      pid,
      cliCommand,
      exited,
      stop,
      kill: s => void child.kill(s),
    }
  } catch (error) {
    await lock.close()
    throw error
  }
}

async function launch(
  { binary, appendonly = true, args = [] }: EmbeddedRedisOptions,
  dir: string,
  port: number,
  lockFd: number,
) {
  const settings = [
    ...['--bind', HOST, '--port', String(port), '--dir', dir, '--logfile', join(dir, 'redis.log')],
    ...['--save', '', '--appendonly', appendonly ? 'yes' : 'no', '--appendfsync', 'everysec'],
    ...args,
  ]
  // Detached = its own session: Ctrl-C in the terminal must not end it before the apps have flushed.
  const child = spawn(binary.server, settings, {
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', lockFd],
    env: binary.env,
  })
  let complaints = ''
  child.stderr?.on('data', text => {
    complaints = (complaints + String(text)).slice(-2_000)
  })
  const exited = new Promise<RedisExit>(settle => {
    child.once('exit', (code, signal) => settle({ code, signal }))
  })
  await once(child, 'spawn').catch(error => {
    throw new KimchiError('KIMCHI_ERR_REDIS', `${binary.server} did not start: ${messageOf(error)}`)
  })
  if (child.pid === undefined) throw new KimchiError('KIMCHI_ERR_REDIS', `${binary.server} did not start`)
  const watcher = spawnWatcher(child.pid)
  void exited.then(() => watcher.kill('SIGKILL'))
  return { pid: child.pid, child, exited, complaints: () => complaints }
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

async function stopServer(child: ChildProcess, exited: Promise<RedisExit>): Promise<RedisExit> {
  child.kill('SIGTERM')
  child.kill('SIGCONT')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  return exited.finally(() => clearTimeout(timer))
}

async function untilReady(pid: number, port: number, exited: Promise<RedisExit>): Promise<void> {
  let isGone = false
  void exited.then(() => {
    isGone = true
  })
  const deadline = performance.now() + START_TIMEOUT_MS
  while (performance.now() < deadline) {
    if (isGone) throw new Error('gone')
    const answer = await ask(port, 'PING\r\nINFO server\r\n')
    // The process id tells our server from another program that took the port in between; LOADING is not
    // +PONG.
    if (answer.startsWith('+PONG') && answer.includes(`process_id:${pid}\r\n`)) return
    await wait(20)
  }
  throw new KimchiError(
    'KIMCHI_ERR_REDIS',
    `Redis on port ${port} did not answer within ${START_TIMEOUT_MS} ms`,
  )
}

function ask(port: number, commands: string): Promise<string> {
  return new Promise(settle => {
    let answer = ''
    const socket = connect({ port, host: HOST, timeout: 1_000 })
    socket.on('connect', () => socket.write(commands))
    socket.on('timeout', () => socket.destroy())
    socket.on('error', () => socket.destroy())
    socket.on('close', () => settle(answer))
    socket.on('readable', () => {
      answer += socket.read()?.toString() ?? ''
      if (!answer.startsWith('+PONG') || answer.includes('process_id:')) socket.end()
    })
  })
}

async function gaveUp(
  port: number,
  dir: string,
  { code, signal }: RedisExit,
  complaints: string,
): Promise<KimchiError> {
  const lines = (await readFile(join(dir, 'redis.log'), 'utf8').catch(() => '')).trim().split('\n').slice(-5)
  lines.push(complaints.trim())
  if (lines.some(line => line.includes('Address already in use'))) return portTaken(port)
  return new KimchiError(
    'KIMCHI_ERR_REDIS',
    `Redis in ${dir} ended at start (${signal ?? `exit code ${code}`}):\n${lines.join('\n')}`,
  )
}

function portTaken(port: number): KimchiError {
  return new KimchiError('KIMCHI_ERR_REDIS', `Port ${port} on ${HOST} is taken by another program`, {
    cause: Object.assign(new Error('address in use'), { code: 'EADDRINUSE' }),
  })
}
