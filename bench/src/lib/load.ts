import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { ask } from '@kimchi/testkit'
import { median } from './report.ts'
import { cpuSeconds, LOAD_CORE } from './servers.ts'

const run = promisify(execFile)

/** Under load, before anything is measured: what is compiled in stages has to get there. */
const WARM_UP_S = 2

/** How a benchmark is run. */
export interface Options {
  /** How often everything is measured. */
  readonly rounds: number
  /** How long one measurement under load takes. */
  readonly seconds: number
  /** Whether what else people use takes part; it is installed into a temporary folder. */
  readonly peers: boolean
}

/** A server that takes part, and what it is asked. */
export interface Contestant {
  readonly port: number
  /** Whose processor time a request costs. */
  readonly pids: readonly number[]
  readonly path: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Asks with the tag that it has; a tag is good for a minute. */
  readonly isConditional?: boolean | undefined
  /** A file of wrk's, where a GET of the path isn't what is asked. */
  readonly script?: string
}

/** What one run under load showed. */
interface Load {
  /** Requests per second. */
  readonly rps: number
  /** Milliseconds. */
  readonly p99: number
  /** Processor time of the servers per request, in microseconds. */
  readonly cpu: number
  /** Share of its core that the load generator used; near 1 it was the bottleneck. */
  readonly generator: number
}

/** Medians of all rounds, by the contestants' names. */
export interface Results {
  readonly names: readonly string[]
  median(name: string, field: keyof Load): number
  /** Taken within a round, because the machine itself is faster in one round than in another. */
  ratio(name: string, base: string, field: keyof Load): number
}

/** How {@link measureRounds} measures, for the report. */
export function method({ rounds, seconds }: Options): string {
  return `Load: wrk -t1 -c64 on a core of its own, servers on another; ${rounds} rounds of ${seconds} s in random order after ${WARM_UP_S} s to warm up, a new minute written each minute; medians, ratios within a round.`
}

/** Loads each contestant in every round for some seconds, after some more to warm up. */
export async function measureRounds(
  contestants: Readonly<Record<string, Contestant>>,
  { rounds, seconds }: Options,
): Promise<Results> {
  const runs: Record<string, Load[]> = {}
  for (const contestant of Object.values(contestants)) await load(contestant, WARM_UP_S)
  for (let round = 0; round < rounds; round++) {
    for (const [name, contestant] of shuffled(Object.entries(contestants))) {
      runs[name] = [...(runs[name] ?? []), await load(contestant, seconds)]
      process.stderr.write('.')
    }
  }
  const all = (name: string, field: keyof Load) => (runs[name] ?? []).map(run => run[field])
  return {
    names: Object.keys(contestants),
    median: (name, field) => median(all(name, field)),
    ratio: (name, base, field) => {
      const bases = all(base, field)
      return median(all(name, field).map((value, round) => value / Number(bases[round])))
    },
  }
}

/** Whoever always came after the same neighbour would be measured with what that one leaves behind. */
function shuffled<T>(all: readonly T[]): readonly T[] {
  const placed = all.map(one => ({ one, place: Math.random() }))
  return placed.sort((a, b) => a.place - b.place).map(({ one }) => one)
}

async function load(contestant: Contestant, seconds: number): Promise<Load> {
  const { port, path, pids, script, isConditional } = contestant
  const headers: Record<string, string> = { ...contestant.headers }
  if (isConditional) headers['If-None-Match'] = `${(await ask(port, path, { headers })).headers.etag}`
  const flags = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  if (script !== undefined) flags.push('-s', script)
  const url = `http://127.0.0.1:${port}${path}`
  const wrk = ['wrk', '-t1', '-c64', `-d${seconds}s`, '--timeout', '10s', '--latency', ...flags, url]
  const timed = ['-c', 'TIMEFORMAT="%U %S"; time "$@"', 'bash', 'taskset', '-c', LOAD_CORE, ...wrk]
  const cpu = () => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0)
  const before = cpu()
  const { stdout, stderr } = await run('bash', timed)
  const used = cpu() - before
  if (/Non-2xx or 3xx|Socket errors/.test(stdout)) throw new Error(`${url} under load:\n${stdout}`)
  const [user = 0, system = 0] = stderr.trim().split(' ').map(Number)
  return {
    rps: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
    p99: milliseconds(/^ +99% +(\S+)/m.exec(stdout)?.[1] ?? ''),
    cpu: (used / Number(/(\d+) requests in/.exec(stdout)?.[1])) * 1e6,
    generator: (user + system) / seconds,
  }
}

/** @param text as wrk prints it: 830.00us, 1.20ms, 1.01s */
function milliseconds(text: string): number {
  const value = Number.parseFloat(text)
  return text.endsWith('us') ? value / 1_000 : text.endsWith('ms') ? value : value * 1_000
}
