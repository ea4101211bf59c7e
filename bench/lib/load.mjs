import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { cpuSeconds, LOAD_CORE } from './programs.mjs'

const run = promisify(execFile)

/** What the load generator and its name are, for the report. */
export const LOAD_GENERATOR = 'wrk -t1 -c64'

/**
 * @typedef {object} Load what one run under load showed
 * @property {number} rps requests per second
 * @property {number} p99 milliseconds
 * @property {number} cpuMicros processor time of the servers per request, microseconds
 * @property {number} generatorLoad share of its core that the load generator used; near 1 it was the
 * bottleneck
 * @property {number} requests
 */

/**
 * Loads a server for some seconds and measures it.
 * @param {string} url
 * @param {{
 *   seconds: number, headers: Record<string, string>, pids: readonly (number | undefined)[], script?: string,
 * }} options `script` is a file of wrk's, where a GET of the URL isn't what is asked
 * @returns {Promise<Load>}
 */
export async function load(url, { seconds, headers, pids, script: asking }) {
  const cpu = () => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0)
  const flags = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  if (asking !== undefined) flags.push('-s', asking)
  const wrk = ['wrk', '-t1', '-c64', `-d${seconds}s`, '--timeout', '10s', '--latency', ...flags, url]
  const script = 'TIMEFORMAT="generator %U %S"; time "$@"'
  const before = cpu()
  const { stdout, stderr } = await run('bash', ['-c', script, 'bash', 'taskset', '-c', LOAD_CORE, ...wrk])
  const used = cpu() - before
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1])
  if (/Non-2xx or 3xx|Socket errors/.test(stdout)) throw new Error(`${url} under load:\n${stdout}`)
  const [user = 0, system = 0] = /generator ([\d.]+) ([\d.]+)/.exec(stderr)?.slice(1).map(Number) ?? []
  return {
    rps: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
    p99: milliseconds(/^ +99% +(\S+)/m.exec(stdout)?.[1] ?? ''),
    cpuMicros: (used / requests) * 1e6,
    generatorLoad: (user + system) / seconds,
    requests,
  }
}

/** @param {string} text as wrk prints it: 830.00us, 1.20ms, 1.01s */
function milliseconds(text) {
  const value = Number.parseFloat(text)
  if (Number.isNaN(value)) throw new Error(`wrk's p99 must be a duration, got: ${text}`)
  return text.endsWith('us') ? value / 1_000 : text.endsWith('ms') ? value : value * 1_000
}
