import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { readConfig } from '../../apps/ingester/dist/config.js'
import { startIngester } from '../../apps/ingester/dist/start.js'
import { createLogger, systemClock } from '../../packages/runtime/dist/index.js'

// A process of its own: a real ingester that watches itself. Arguments: settings as JSON, seconds between
// refreshes, seconds to run.
const [settings = '{}', refreshSeconds = '', seconds = ''] = process.argv.slice(2)
const refreshMs = Number(refreshSeconds) * 1_000
const ingester = await startIngester(readConfig(JSON.parse(settings)), {
  log: createLogger('bench', 'silent'),
  clock: systemClock,
  random: Math.random,
  id: 'bench',
  version: 'bench',
  refreshMs,
})
process.on('disconnect', () => process.exit(0))
// The start itself, loading and first connections, is no part of it.
await wait(10_000)
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
const own = watchOwnStalls()
const cpu = process.cpuUsage()
const started = performance.now()
const result = { rssMb: 0, stallMs: 0, ownStallMs: 0, stalls: '', childPeakMb: 0, cpuShare: 0, metrics: '' }
while (performance.now() - started < Number(seconds) * 1_000) {
  await wait(250)
  result.rssMb = Math.max(result.rssMb, process.memoryUsage.rss() / 2 ** 20)
  const child = peakOfChild()
  result.childPeakMb = Math.max(result.childPeakMb, child ?? 0)
  // A timer of one millisecond is itself a millisecond late.
  const stallMs = delay.max / 1e6 - 1
  delay.reset()
  result.stallMs = Math.max(result.stallMs, stallMs)
  const ownMs = own()
  result.ownStallMs = Math.max(result.ownStallMs, ownMs)
  if (ownMs < 20) continue
  const second = ((Date.now() / 1_000) % 60).toFixed(1)
  result.stalls += `${ownMs.toFixed(0)} of ${stallMs.toFixed(0)} ms at second ${second}${child === undefined ? '' : ', child'}; `
}
const { user, system } = process.cpuUsage(cpu)
result.cpuShare = (user + system) / 1_000 / (performance.now() - started)
result.metrics = await (await fetch(`http://127.0.0.1:${ingester.opsPort}/metrics`)).text()
process.send?.(result)
await ingester.close()
process.exit(0)

/**
 * The longest stall since the last call in which this process had the processor: the others are the machine's
 * doing.
 */
function watchOwnStalls() {
  let longest = 0
  let at = performance.now()
  let used = process.cpuUsage()
  setInterval(() => {
    const now = performance.now()
    const { user, system } = process.cpuUsage(used)
    longest = Math.max(longest, Math.min(now - at, (user + system) / 1_000))
    at = now
    used = process.cpuUsage()
  }, 1)
  return () => {
    const was = longest
    longest = 0
    return was
  }
}

/** @param {number} ms */
function wait(ms) {
  return new Promise(resolve => setTimeout(resolve, ms))
}

/** Most memory that the REST child ever held, in MB; undefined while there is none. */
function peakOfChild() {
  try {
    const [child] = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').split(' ')
    const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child}/status`, 'utf8'))
    return peak ? Number(peak[1]) / 1_024 : undefined
  } catch {
    // It ended between two looks.
    return undefined
  }
}
