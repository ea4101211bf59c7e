import { execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { freePort } from '@kimchi/local-redis'
import { eventually, followProgram, type Program, type Teardown } from '@kimchi/testkit'

/** Kernel clock ticks per second, in which /proc counts processor time. */
const TICKS = Number(execFileSync('getconf', ['CLK_TCK']))

/** The servers have one core, the load generator another. */
const SERVER_CORE = '0'
export const LOAD_CORE = availableParallelism() > 1 ? '1' : '0'

const API = fileURLToPath(new URL('../../../apps/api/dist/main.js', import.meta.url))

const IMAGE_NGINX = fileURLToPath(new URL('../../../.cache/image-nginx', import.meta.url))

/** The path of the live list. */
export const LIVE = '/api/v1/kimchi-premium'

/** A server under measurement. */
export interface Server {
  readonly port: number
  /** Its process, and none of its children. */
  readonly pids: readonly [number]
  readonly program: Program
}

/** Starts a program on the servers' core; SIGKILLed with the measurement. */
export function startServer(
  t: Teardown,
  [command = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Program {
  // The nginx of the image's branch where it is here; else Debian's, where only root's PATH looks.
  const PATH = `${IMAGE_NGINX}:${process.env.PATH}:/usr/sbin`
  const child = spawn('taskset', ['-c', SERVER_CORE, command, ...args], {
    env: { PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const program = followProgram(child, command)
  t.teardown(() => program.end('SIGKILL'))
  return program
}

/** Starts one of src/programs on a free port, and waits until it answers this path. */
export async function startContestant(
  t: Teardown,
  name: string,
  path: string,
  options: object,
): Promise<Server> {
  const file = fileURLToPath(new URL(`../programs/${name}.js`, import.meta.url))
  const port = await freePort()
  const program = startServer(t, [process.execPath, file, JSON.stringify({ port, path, ...options })])
  await untilAnswers(port, path)
  return { port, pids: [program.pid], program }
}

/** Starts the API as the image does, and waits for its first list. */
export async function startApi(
  t: Teardown,
  redisUrl: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const port = await freePort()
  const program = startServer(t, [process.execPath, '--enable-source-maps', API], {
    ...{ REDIS_URL: redisUrl, HOST: '127.0.0.1', PORT: `${port}`, OPS_PORT: '0', LOG_LEVEL: 'warn' },
    ...env,
  })
  await untilAnswers(port, LIVE)
  return { port, pids: [program.pid], program }
}

/** Asks until the answer is good. */
export async function untilAnswers(port: number, path: string, request?: RequestInit): Promise<void> {
  const url = `http://127.0.0.1:${port}${path}`
  const isGood = async () => Number((await fetch(url, request).catch(() => undefined))?.status) < 400
  await eventually(`an answer of ${url}`, isGood, 20_000, 5)
}

/** Processor seconds that a process and its children have used. */
export function cpuSeconds(pid: number): number {
  return [pid, ...childrenOf(pid)].reduce((sum, id) => {
    const fields = readFileSync(`/proc/${id}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return sum + (Number(fields[11]) + Number(fields[12])) / TICKS
  }, 0)
}

/** Puts a running process and its children on the servers' core. */
export function pin(pid: number): void {
  for (const id of [pid, ...childrenOf(pid)]) {
    execFileSync('taskset', ['-acp', SERVER_CORE, `${id}`], { stdio: 'ignore' })
  }
}

/** Resident memory in MB, now or at its highest. */
export function residentMb(pid: number, field: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(text)?.[1]) / 1_024
}

/** Children of the main thread. */
function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.split(' ').filter(Boolean).map(Number)
}
