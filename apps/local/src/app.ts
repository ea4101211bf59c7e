import { fork } from 'node:child_process'
import { KimchiError, type Milliseconds, noNetworkIn } from '@kimchi/core'
import { logChild } from './child-log.ts'
import type { Exit, LocalContext, Running } from './supervisor.ts'

/** An app ends itself within 4 s of SIGTERM; after this it is killed. */
const KILL_AFTER_MS: Milliseconds = 4_300

export interface App {
  readonly name: string
  /** Holds its log, `<name>.log`. */
  readonly logDir: string
  readonly script: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Starts an app and resolves when it says over its IPC channel that it has started. It leads a process group of its
 * own, so that a Ctrl-C in the terminal reaches only the stack, which then ends its processes in order; the end
 * of the stack it notices by the channel.
 * @throws KimchiError `KIMCHI_ERR_CONFIG` when it ends before
 */
export async function startApp(app: App, say: LocalContext['say'], signal: AbortSignal): Promise<Running> {
  const { name, logDir, script, env } = app
  const child = fork(script, { execArgv: ['--enable-source-maps'], env, detached: true, silent: true })
  let isFinal = false
  let isEnding = signal.aborted
  const stop = async () => {
    isEnding = true
    child.kill('SIGTERM')
    const killing = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS)
    await exited
    clearTimeout(killing)
    await logged
  }
  const logged = logChild(child, { file: `${name}.log`, folder: logDir }, text => {
    if (!isEnding) say(noNetworkIn(text) ?? `${name}: ${text}`)
  })
  const exited = new Promise<Exit>(resolve =>
    child.once('close', (code, signal) => resolve({ code, signal, isFinal })),
  )
  const started = new Promise<undefined>(resolve =>
    child.on('message', (message: { final?: boolean }) => {
      isFinal ||= message.final === true
      resolve(undefined)
    }),
  )
  signal.addEventListener('abort', stop, { once: true })
  const ended = await Promise.race([started, exited])
  signal.removeEventListener('abort', stop)
  if (!ended) return { exited, stop }
  const message = `${name} could not be started (${ended.signal ?? `exit ${ended.code}`}); the reason is above.`
  throw new KimchiError('KIMCHI_ERR_CONFIG', message)
}
