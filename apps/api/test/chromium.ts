import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { eventually } from './stack.ts'

interface Teardown {
  teardown(close: () => unknown): void
}

/** A page in a real browser. */
export interface BrowserPage {
  /** Runs an async function of the page, given as text, and gives what it returns. */
  run<T>(source: string): Promise<T>
}

const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome']

/** Path of the first Chromium on PATH; undefined when there is none. */
export function findChromium(path: string): string | undefined {
  const candidates = path.split(':').flatMap(folder => PROGRAMS.map(program => join(folder, program)))
  return candidates.find(candidate => {
    try {
      accessSync(candidate, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** Opens a page in a headless Chromium with a profile of its own, driven over the DevTools pipe. */
export async function openPage(t: Teardown, program: string, url: string): Promise<BrowserPage> {
  const profile = await mkdtemp(join(tmpdir(), 'kimchi-chromium-'))
  const flags = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--disable-dev-shm-usage',
    `--user-data-dir=${profile}`,
    '--remote-debugging-pipe',
  ]
  const child = spawn(program, flags, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] })
  const exited = new Promise(resolve => child.once('exit', resolve))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  })
  const send = devTools(child.stdio[3] as Writable, child.stdio[4] as Readable)
  const { targetId } = await send('Target.createTarget', { url })
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true })
  const page: BrowserPage = {
    run: async <T>(source: string) => {
      const expression = `(${source})()`
      const options = { expression, awaitPromise: true, returnByValue: true }
      const { result, exceptionDetails } = await send('Runtime.evaluate', options, sessionId as string)
      if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails))
      return (result as { value: T }).value
    },
  }
  // Until the page is there, scripts run in the blank one before it, and end with it.
  const loaded = "async () => document.readyState === 'complete' && location.href"
  await eventually('the page', async () =>
    (await page.run(loaded).catch(() => undefined)) === url ? true : undefined,
  )
  return page
}

/** The DevTools protocol over a pair of pipes: JSON messages, each ended by a NUL. */
function devTools(commands: Writable, messages: Readable) {
  const waiting = new Map<number, { resolve: (value: Reply) => void; reject: (error: Error) => void }>()
  let received = ''
  messages.setEncoding('utf8').on('data', (chunk: string) => {
    received += chunk
    for (let end = received.indexOf('\0'); end >= 0; end = received.indexOf('\0')) {
      const { id, result, error } = JSON.parse(received.slice(0, end))
      received = received.slice(end + 1)
      if (error === undefined) waiting.get(id)?.resolve(result)
      else waiting.get(id)?.reject(new Error(error.message))
      waiting.delete(id)
    }
  })
  messages.on('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('Chromium has ended'))
  })
  let last = 0
  return (method: string, params: object, sessionId?: string): Promise<Reply> =>
    new Promise((resolve, reject) => {
      last += 1
      waiting.set(last, { resolve, reject })
      commands.write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`)
    })
}

type Reply = Readonly<Record<string, unknown>>
