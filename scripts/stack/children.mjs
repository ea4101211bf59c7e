import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'

const RESTART_AFTER_MS = 1_000
/** Apps cut their own end at 4 s; what is still there shortly after is killed. */
const KILL_AFTER_MS = 4_300

/**
 * @typedef {{ name: string, child: import('node:child_process').ChildProcess }} Running
 */

/** The Node processes of one stack: restarted when they crash, stopped together. */
export class Children {
  #logDir
  #say
  #stopping = false
  /** @type {Running[]} */
  #running = []

  /** Called when a child ends by itself with exit code 1: a boot error that a restart would only repeat. */
  onBootFailure = () => {}

  /** Called with each JSON line that a child logs. @type {(record: Record<string, unknown>) => void} */
  onRecord = () => {}

  /** @param {{ logDir: string, say: (line: string) => void }} options */
  constructor({ logDir, say }) {
    this.#logDir = logDir
    this.#say = say
    mkdirSync(logDir, { recursive: true })
  }

  /**
   * Each child leads its own process group, so that a Ctrl-C in the terminal reaches only the stack, which then ends
   * them in order; it notices the end of the stack by its IPC channel.
   * @param {string} name @param {string} script @param {NodeJS.ProcessEnv} env @param {string[]} nodeOptions
   */
  start(name, script, env, nodeOptions = []) {
    const child = spawn(process.execPath, ['--enable-source-maps', ...nodeOptions, script], {
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    const running = { name, child }
    this.#running.push(running)
    this.#log(name, child)
    child.once('exit', (code, signal) =>
      this.#ended(running, code, signal, () => this.start(name, script, env, nodeOptions)),
    )
  }

  async stopAll() {
    this.#stopping = true
    await Promise.all(this.#running.map(({ child }) => end(child)))
  }

  /** @param {Running} running @param {number | null} code @param {string | null} signal @param {() => void} restart */
  #ended(running, code, signal, restart) {
    this.#running = this.#running.filter(other => other !== running)
    if (this.#stopping) return
    if (code === 1) {
      this.#say(`${running.name} could not go on (exit 1).`)
      this.onBootFailure()
      return
    }
    this.#say(`${running.name} ended unexpectedly (${signal ?? `exit ${code}`}); starting it again.`)
    setTimeout(() => this.#stopping || restart(), RESTART_AFTER_MS)
  }

  /** Everything goes to the log file; warnings and plain text also to the person who watches. */
  #log(/** @type {string} */ name, /** @type {import('node:child_process').ChildProcess} */ child) {
    const file = createWriteStream(join(this.#logDir, `${name}.log`), { flags: 'a' })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) {
      if (!stream) continue
      createInterface({ input: stream }).on('line', line => {
        file.write(`${line}\n`)
        const record = parse(line)
        if (record) this.onRecord(record)
        const text = record ? warningOf(record) : stream === child.stderr ? line : undefined
        if (!text || text === said || this.#stopping) return
        said = text
        this.#say(`${name}: ${text}`)
      })
    }
    child.once('close', () => file.end())
  }
}

/** @param {string} line @returns {any} the logged record, or undefined for plain text */
function parse(line) {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** @param {any} record @returns {string | undefined} */
function warningOf({ level, msg, err }) {
  return ['warn', 'error', 'fatal'].includes(level)
    ? [msg, err?.message].filter(Boolean).join(': ')
    : undefined
}

/** @param {import('node:child_process').ChildProcess} child */
async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null || !child.pid) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const late = await Promise.race([exited.then(() => false), delay(KILL_AFTER_MS, true, { ref: false })])
  if (late) {
    process.kill(-child.pid, 'SIGKILL')
    await exited
  }
}
