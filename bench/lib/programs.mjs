import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

/** Kernel clock ticks per second, in which /proc counts processor time. */
const TICKS = Number(execFileSync('getconf', ['CLK_TCK']))

/** The servers have one core, the load generator another. */
export const SERVER_CORE = '0'
export const LOAD_CORE = availableParallelism() > 1 ? '1' : '0'

/**
 * Whether a program is on PATH.
 * @param {string} name
 */
export function isInstalled(name) {
  try {
    execFileSync('sh', ['-c', `command -v ${name}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** A port that was free a moment ago. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  server.close()
  return port
}

/** The API's built program. */
export const API = join(import.meta.dirname, '../../apps/api/dist/main.js')

/**
 * What the API is started with.
 * @param {string} redisUrl @param {number} port
 */
export function apiEnv(redisUrl, port) {
  return { REDIS_URL: redisUrl, HOST: '127.0.0.1', PORT: String(port), OPS_PORT: '0', LOG_LEVEL: 'warn' }
}

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set()

// The end of the measurement ends what it started.
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.once(signal, () => process.exit(1))
process.once('exit', () => running.forEach(child => void child.kill()))

/**
 * Starts a server on its core.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {Record<string, string>} env
 * @param {boolean} pinned
 */
export function startServer(command, args, env = {}, pinned = true) {
  const [file, ...rest] = pinned ? ['taskset', '-c', SERVER_CORE, command, ...args] : [command, ...args]
  const child = spawn(/** @type {string} */ (file), rest, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** @param {import('node:child_process').ChildProcess} child */
export async function stopServer(child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

/** Ends everything that was started. */
export async function stopAll() {
  await Promise.all([...running].map(stopServer))
}

/**
 * Asks until the answer is 2xx or 3xx.
 * @param {string} url @param {RequestInit} [request]
 */
export async function untilAnswers(url, request) {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    const answer = await fetch(url, request).catch(() => undefined)
    await answer?.arrayBuffer()
    if (answer !== undefined && answer.status < 400) return
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  throw new Error(`${url} does not answer`)
}

/**
 * Processor seconds that a process and its children have used.
 * @param {number | undefined} pid
 */
export function cpuSeconds(pid) {
  const children = execFileSync('sh', ['-c', `cat /proc/${pid}/task/*/children 2>/dev/null || true`], {
    encoding: 'utf8',
  })
  return [pid, ...children.split(/\s+/).filter(Boolean)].reduce((sum, id) => sum + ownCpuSeconds(id), 0)
}

/** @param {number | string | undefined} pid */
function ownCpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / TICKS
}

/**
 * Resident memory in MB, now or at its highest.
 * @param {number | undefined} pid @param {'VmRSS' | 'VmHWM'} field
 */
export function residentMb(pid, field = 'VmRSS') {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(text)?.[1]) / 1_024
}
