import { fileURLToPath } from 'node:url'
import { type Program, startProgram } from '@kimchi/testkit'

const SCRIPTS = {
  simulator: '../../packages/simulator/dist/main.js',
  ingester: '../../apps/ingester/dist/main.js',
  api: '../../apps/api/dist/main.js',
}

/** Starts an app, or the simulator, with exactly this environment, plus PATH. Kill it in a teardown. */
export function startApp(app: keyof typeof SCRIPTS, env: Record<string, string>): Program {
  const script = fileURLToPath(new URL(SCRIPTS[app], import.meta.url))
  return startProgram(undefined, ['--enable-source-maps', script], env)
}

/** The port of `/metrics` and `/ready` that an app or an ingester of a testbed says it listens on. */
export async function opsPortOf(app: Program): Promise<number> {
  return JSON.parse(await app.line(line => line.includes('"opsPort"'))).opsPort
}

/** The parsed JSON answer of a GET with its status, or undefined when there is no response. */
export async function getJson<T>(url: string): Promise<{ status: number; body: T } | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
    return { status: response.status, body: (await response.json()) as T }
  } catch {
    return undefined
  }
}
