import { execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { freePort } from '@kimchi/local-redis'
import { eventually, followProgram, type Teardown } from '@kimchi/testkit'

/** The servers have one core, the load generator another. */
const SERVER_CORE = '0'
export const LOAD_CORE = availableParallelism() > 1 ? '1' : '0'

/** Ticks per second of the kernel's clock, in which /proc counts processor time. */
const TICKS = Number(execFileSync('getconf', ['CLK_TCK']))

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** With the nginx that scripts/image-nginx.sh has fetched. */
const PATH = `${ROOT}.cache/image-nginx:${process.env.PATH}`

export const LIVE = '/api/v1/kimchi-premium'

export interface Server {
  readonly port: number
  readonly pid: number
}

/**
 * Starts a server on the servers' core, and waits until it answers; ended with the measurement.
 * @param url of its first answer, with its port
 */
export async function startServer(
  t: Teardown,
  command: readonly string[],
  url: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const child = spawn('taskset', ['-c', SERVER_CORE, ...command], {
    env: { PATH, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const { pid, end } = followProgram(child, command.join(' '))
  // A killed nginx would leave its worker behind.
  t.teardown(() => end('SIGTERM'))
  const isReady = async () => Number((await fetch(url).catch(() => undefined))?.status) < 400
  await eventually(`an answer of ${url}`, isReady, 20_000, 5)
  return { port: Number(new URL(url).port), pid }
}

/** Starts one of src/programs. @param options for the program, besides port and path */
export async function startContestant(t: Teardown, name: string, path: string, options: object) {
  const port = await freePort()
  const command = [
    process.execPath,
    `${ROOT}bench/dist/programs/${name}.js`,
    JSON.stringify({ port, path, ...options }),
  ]
  return startServer(t, command, `http://127.0.0.1:${port}${path}`)
}

/** Starts the API as the image does, and waits for its first list. */
export async function startApi(t: Teardown, redisUrl: string): Promise<Server> {
  const port = await freePort()
  const command = [process.execPath, '--enable-source-maps', `${ROOT}apps/api/dist/main.js`]
  const address = { HOST: '127.0.0.1', PORT: `${port}`, OPS_PORT: '0' }
  const env = { ...address, REDIS_URL: redisUrl, LOG_LEVEL: 'warn' }
  return startServer(t, command, `http://127.0.0.1:${port}${LIVE}`, env)
}

/** Processor seconds that a process and its children have used. */
export function cpuSeconds(pid: number): number {
  return withChildren(pid).reduce((sum, id) => {
    const fields = readFileSync(`/proc/${id}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return sum + (Number(fields[11]) + Number(fields[12])) / TICKS
  }, 0)
}

/** Puts a running process and its children on the servers' core. */
export function pin(pid: number): void {
  for (const id of withChildren(pid)) execFileSync('taskset', ['-acp', SERVER_CORE, id], { stdio: 'ignore' })
}

/** A process and the children of its main thread. */
function withChildren(pid: number): readonly string[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return [`${pid}`, ...children.split(' ').filter(Boolean)]
}
