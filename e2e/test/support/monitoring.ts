import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '@kimchi/local-redis'
import { createFolder, followProgram } from '@kimchi/testkit'
import type { Test } from 'tap'

/** What is shipped for Prometheus and Alertmanager. */
export const SHIPPED = fileURLToPath(new URL('../../../deploy/prometheus', import.meta.url))

const PROGRAMS = ['prometheus', 'prometheus-alertmanager']

/** The programs of {@link openMonitoring} that are missing, for a test that is skipped then. */
export function missingPrograms(): readonly string[] {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return PROGRAMS.filter(program => !folders.some(folder => existsSync(join(folder, program))))
}

/** One alert as Alertmanager sends it. */
export interface SentAlert {
  readonly status: 'firing' | 'resolved'
  readonly labels: Readonly<Record<string, string>>
  /** The receiver's path: `/page` or `/ticket`. */
  readonly to: string | undefined
}

/** How monitoring is opened. */
export interface MonitoringOptions {
  /** Ops ports on 127.0.0.1, by job. */
  readonly targets: Readonly<Record<string, readonly number[]>>
  readonly onAlert: (alert: SentAlert) => void
}

/**
 * Debian's Prometheus and Alertmanager with the shipped rules and routes, every wait cut to a moment; they
 * send to a receiver of ours. Ends with the test.
 */
export async function openMonitoring(t: Test, { targets, onAlert }: MonitoringOptions): Promise<void> {
  const dir = await createFolder(t)
  const receiver = await openReceiver(t, onAlert)
  const [port, alertPort] = [await freePort(), await freePort()]
  const read = (name: string) => readFile(join(SHIPPED, name), 'utf8')
  const routes = (await read('alertmanager.yml')).replaceAll('127.0.0.1:9095', `127.0.0.1:${receiver}`)
  await writeFile(
    join(dir, 'alertmanager.yml'),
    routes.replace(/(?<wait>group_wait: |group_interval: )\w+/g, '$<wait>300ms'),
  )
  await writeFile(
    join(dir, 'rules.yml'),
    (await read('rules.yml')).replace(/(?<wait>for: )\w+/g, '$<wait>1s'),
  )
  const jobs = Object.entries(targets).map(([job, ports]) => ({
    job_name: job,
    static_configs: [{ targets: ports.map(opsPort => `127.0.0.1:${opsPort}`) }],
  }))
  const shipped = await read('prometheus.yml')
  const global = shipped.slice(0, shipped.indexOf('scrape_configs:'))
  const config = global.replace(/(?<wait>_interval: )\w+/g, '$<wait>500ms')
  await writeFile(
    join(dir, 'prometheus.yml'),
    `${config.replace('alertmanager:9093', `127.0.0.1:${alertPort}`)}scrape_configs: ${JSON.stringify(jobs)}\n`,
  )
  const start = (program: string, ...args: readonly string[]) => {
    const child = spawn(program, [...args, '--log.level=error'], {
      cwd: dir,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const running = followProgram(child, program)
    t.teardown(() => running.end('SIGKILL'))
  }
  start(
    'prometheus-alertmanager',
    '--config.file=alertmanager.yml',
    '--storage.path=alerts',
    `--web.listen-address=127.0.0.1:${alertPort}`,
    '--cluster.listen-address=',
  )
  start(
    'prometheus',
    '--config.file=prometheus.yml',
    '--storage.tsdb.path=series',
    `--web.listen-address=127.0.0.1:${port}`,
  )
}

async function openReceiver(t: Test, onAlert: MonitoringOptions['onAlert']): Promise<number> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    response.end()
    const { alerts } = JSON.parse(Buffer.concat(chunks).toString())
    for (const alert of alerts) onAlert({ ...alert, to: request.url })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}
