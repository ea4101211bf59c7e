import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { delimiter, join } from 'node:path'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { freePort } from '@kimchi/local-redis'
import { createFolder, followProgram, listen } from '@kimchi/testkit'
import type { Test } from 'tap'
import { parse } from 'yaml'

/** What is shipped for Prometheus and Alertmanager. */
export const SHIPPED = fileURLToPath(new URL('../../../deploy/prometheus', import.meta.url))

const PROGRAMS = ['prometheus', 'prometheus-alertmanager', 'prometheus-blackbox-exporter']
const FOLDERS = (process.env.PATH ?? '').split(delimiter)
const MISSING = PROGRAMS.filter(program => !FOLDERS.some(folder => existsSync(join(folder, program))))

/** Why nothing is monitored here, for a test that is skipped then; false when it can be. */
export const lacksMonitoring = MISSING.length > 0 && `not installed: ${MISSING.join(', ')}`

/** One alert as Alertmanager sends it. */
export interface SentAlert {
  readonly status: 'firing' | 'resolved'
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** The receiver's path: `/page`, `/ticket` or `/watchdog`. */
  readonly to: string | undefined
}

/** How monitoring is opened. */
export interface MonitoringOptions {
  /** What each job of the shipped prometheus.yml asks, in place of the containers: `host:port`; of `probe`, URLs. */
  readonly targets: Readonly<Record<string, readonly string[]>>
  readonly onAlert: (alert: SentAlert) => void
}

/**
 * Debian's Prometheus, Alertmanager and blackbox exporter with the shipped rules and routes; they send to a
 * receiver of ours, and wait a moment at most. All listen on 127.0.0.1 and end with the test.
 */
export async function openMonitoring(t: Test, options: MonitoringOptions) {
  const { targets, onAlert } = options
  const hurry = (text: string, waits: RegExp, wait: string) => text.replace(waits, `$<wait>${wait}`)
  const dir = await createFolder(t)
  const receiver = await openReceiver(t, onAlert)
  const [port, alertPort, probePort] = [await freePort(), await freePort(), await freePort()]
  const read = (name: string) => readFile(join(SHIPPED, name), 'utf8')
  const routes = (await read('alertmanager.yml')).replaceAll('127.0.0.1:9095', `127.0.0.1:${receiver}`)
  await writeFile(
    join(dir, 'alertmanager.yml'),
    hurry(routes, /(?<wait>group_wait: |group_interval: )\w+/g, '300ms'),
  )
  await writeFile(join(dir, 'rules.yml'), hurry(await read('rules.yml'), /(?<wait>for: )\w+/g, '1s'))
  const here = (await read('prometheus.yml'))
    .replace('alertmanager:9093', `127.0.0.1:${alertPort}`)
    .replace('blackbox:9115', `127.0.0.1:${probePort}`)
    .replace('https://edge:', 'https://127.0.0.1:')
  const config = parse(hurry(here, /(?<wait>_interval: )\w+/g, '500ms'))
  for (const job of config.scrape_configs) {
    job.dns_sd_configs = undefined
    job.file_sd_configs = undefined
    job.static_configs = [{ targets: targets[job.job_name] ?? [] }]
  }
  await writeFile(join(dir, 'prometheus.yml'), JSON.stringify(config))
  startAlertmanager(t, dir, join(dir, 'alertmanager.yml'), alertPort)
  start(
    t,
    dir,
    'prometheus-blackbox-exporter',
    `--config.file=${join(SHIPPED, 'blackbox.yml')}`,
    `--web.listen-address=127.0.0.1:${probePort}`,
    // Half a second less than Prometheus waits would be nothing.
    '--timeout-offset=0',
  )
  start(
    t,
    dir,
    'prometheus',
    '--config.file=prometheus.yml',
    '--storage.tsdb.path=series',
    // What fires before Prometheus has found Alertmanager is sent again after this.
    '--rules.alert.resend-delay=1s',
    `--web.listen-address=127.0.0.1:${port}`,
  )
  return { ports: { 'prometheus:9090': port, 'alertmanager:9093': alertPort } }
}

/** Alertmanager with its state in `dir`; it ends with the test. */
export function startAlertmanager(t: Test, dir: string, config: string, port: number): void {
  start(
    t,
    dir,
    'prometheus-alertmanager',
    `--config.file=${config}`,
    '--storage.path=alerts',
    `--web.listen-address=127.0.0.1:${port}`,
    '--cluster.listen-address=',
  )
}

function start(t: Test, cwd: string, program: string, ...args: readonly string[]): void {
  const child = spawn(program, [...args, '--log.level=error'], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  const running = followProgram(child, program)
  t.teardown(() => running.end('SIGKILL'))
}

async function openReceiver(t: Test, onAlert: MonitoringOptions['onAlert']): Promise<number> {
  const server = createServer(async (request, response) => {
    const { alerts } = (await json(request)) as { alerts: SentAlert[] }
    response.end()
    for (const alert of alerts) onAlert({ ...alert, to: request.url })
  })
  return listen(t, server)
}
