import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { KimchiError } from '@kimchi/core'
import { openDataDirLock } from './data-dir-lock.ts'
import { freePort } from './port.ts'
import type { RedisBinary } from './programs.ts'

const HOST = '127.0.0.1'
const LOG = 'redis.log'

/** Time between SIGTERM and SIGKILL. */
const STOP_TIMEOUT_MS = 3_000

export interface EmbeddedRedisOptions {
  readonly binary: RedisBinary
  /** Data folder, created when missing; also holds the server's log, `redis.log`. */
  readonly dir: string
  /** @default 0, any free port */
  readonly port?: number
  /** More of redis-server's own arguments; they win over those that every server gets. */
  readonly args?: readonly string[]
  /** Ends a server that does not answer yet: it may be loading a large append-only file. */
  readonly signal?: AbortSignal
}

/** A running server that belongs to this program. */
export type EmbeddedRedis = ReturnType<typeof ownServer>

function ownServer(child: ChildProcess, port: number, cli: string | undefined) {
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>(settle => {
    child.once('exit', (code, signal) => settle({ code, signal }))
  })
  return {
    port,
    url: `redis://${HOST}:${port}`,
    /** The command that opens a prompt on it; undefined without a redis-cli. */
    cliCommand: cli === undefined ? undefined : `${quoted(cli)} -p ${port}`,
    /** Resolves when the server is gone, for whatever reason. */
    exited,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** Ends the server, its append-only file synced, and resolves when it is gone. May be called again. */
    stop: () => {
      child.kill('SIGTERM')
      child.kill('SIGCONT')
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
      return exited.finally(() => clearTimeout(timer))
    },
  }
}

/**
 * Starts a private server on 127.0.0.1 and resolves when it answers, its data loaded. It never outlives this
 * program, even when this program is SIGKILLed, and a Ctrl-C in the terminal does not reach it.
 *
 * @throws KimchiError `KIMCHI_ERR_REDIS` when the folder is in use by another server (`cause.code` is `EBUSY`), or the
 *   server does not come up, such as on a port that is taken; with the last lines of its log
 */
export async function startEmbeddedRedis(options: EmbeddedRedisOptions): Promise<EmbeddedRedis> {
  const [dir, port] = [resolve(options.dir), options.port || (await freePort())]
  await mkdir(dir, { recursive: true })
  const lock = await openDataDirLock(dir)
  const log = await open(join(dir, LOG), 'a')
  try {
    const { size: start } = await log.stat()
    const printed = () => text(createReadStream(join(dir, LOG), { start }))
    const child = spawnServer({ ...options, dir, port }, [log.fd, log.fd, lock.fd])
    const redis = ownServer(child, port, options.binary.cli)
    await once(child, 'spawn')
    const watcher = spawnWatcher(Number(child.pid))
    void redis.exited.then(() => watcher.kill('SIGKILL'))
    // A second start that finds the lock taken shows this in its error.
    await lock.write(`process ${child.pid}, port ${port}\n`)
    while (!options.signal?.aborted && child.exitCode === null && child.signalCode === null) {
      if ((await printed()).includes('Ready to accept connections')) return redis
      await wait(20)
    }
    const { code, signal } = await redis.stop()
    const how = signal ?? `exit code ${code}`
    const end = (await printed()).trim().split('\n').slice(-5).join('\n')
    throw new KimchiError('KIMCHI_ERR_REDIS', `Redis in ${dir} could not be started (${how}):\n${end}`)
  } finally {
    // The server has inherited both files, and with them the lock.
    await Promise.all([lock.close(), log.close()])
  }
}

function spawnServer(
  { binary, dir, port, args = [] }: EmbeddedRedisOptions,
  files: readonly number[],
): ChildProcess {
  const settings = [
    ...['--bind', HOST, '--port', String(port), '--dir', dir],
    ...['--save', '', '--appendonly', 'yes', '--appendfsync', 'everysec'],
    ...args,
  ]
  // In a session of its own (detached), a Ctrl-C in the terminal does not end it before the apps have flushed.
  return spawn(binary.server, settings, { detached: true, stdio: ['ignore', ...files] })
}

/**
 * Ends the server when this program is gone: a shell reads from a pipe that only this program holds open; the
 * pipe closes however this program dies. A stopped (SIGSTOP) server sees SIGTERM only after SIGCONT.
 */
function spawnWatcher(pid: number): ChildProcess {
  const script = `read -r _; kill -TERM ${pid}; kill -CONT ${pid}; sleep 3; kill -KILL ${pid}`
  // The server's environment, such as a preloaded clock, is not meant for this shell.
  const options = { detached: true, env: {} }
  const watcher = spawn('/bin/sh', ['-c', script], { ...options, stdio: ['pipe', 'ignore', 'ignore'] })
  watcher.unref()
  ;(watcher.stdin as Socket).unref()
  return watcher
}

/** A path as a shell reads it. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}
