import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from '@kimchi/local-redis'

/** How an edge is opened. */
export interface EdgeOptions {
  /** Folder of its own for its configuration, cache and log. */
  readonly dir: string
  /** Ports on 127.0.0.1 of the API's replicas. */
  readonly replicas: readonly number[]
  /** Folder of static files served at `/`. @default an empty one */
  readonly page?: string
  /** Requests per second that one client may make. @default as shipped, 50 */
  readonly perSecond?: number
  /** Requests that one client may have open. @default as shipped, 100 */
  readonly connections?: number
  /** Network whose `X-Forwarded-For` is believed, such as 127.0.0.1. @default none */
  readonly proxies?: string
  /** Worker processes. @default one per core */
  readonly workers?: number
  /** PEM files; with them the public port speaks TLS. @default plain HTTP */
  readonly tls?: { readonly certificate: string; readonly key: string }
}

/** Debian's nginx with the configuration of deploy/nginx, in which only site/ is changed. */
export interface Edge {
  readonly pid: number
  readonly port: number
  /** Port for `/live` and `/status`. */
  readonly opsPort: number
  /** Port that redirects to TLS; 0 without TLS. */
  readonly plainPort: number
  /** Its log file: a line of JSON for each request that reached a replica. */
  readonly log: string
  /** Sends requests to these replicas from now on; requests under way are finished. */
  scale(replicas: readonly number[]): Promise<void>
  /** Ends it in order. Idempotent. */
  close(): Promise<void>
}

const LOG = 'edge.log'
const SHIPPED = fileURLToPath(new URL('../../deploy/nginx', import.meta.url))

// Debian puts it where only root's PATH looks.
const ENV = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }

const run = promisify(execFile)

/** Whether there is an nginx with what the edge needs (`apt-get install nginx-light`). */
export async function hasNginx(): Promise<boolean> {
  try {
    const { stderr } = await run('nginx', ['-V'], { env: ENV })
    return stderr.includes('http_v2_module')
  } catch {
    return false
  }
}

/**
 * Starts an nginx on free ports and resolves when it answers.
 * @throws Error with nginx's own words when it does not start
 */
export async function openEdge(options: EdgeOptions): Promise<Edge> {
  const { dir } = options
  await cp(SHIPPED, join(dir, 'conf'), { recursive: true })
  await mkdir(join(dir, 'page'), { recursive: true })
  if (options.workers !== undefined) {
    await adapt(dir, 'nginx.conf', [['worker_processes auto;', `worker_processes ${options.workers};`]])
  }
  const { child, ...ports } = await startNginx(options).catch(error => {
    // Another program took a port between choosing and listening.
    if (!String(error).includes('bind()')) throw error
    return startNginx(options)
  })
  return {
    pid: child.pid as number,
    ...ports,
    log: join(dir, LOG),
    async scale(replicas) {
      await writeUpstream(dir, replicas)
      const before = await workersOf(child)
      child.kill('SIGHUP')
      // The new workers have their configuration; the old ones finish what they have.
      while ((await workersOf(child)).every(pid => before.includes(pid))) await delay(10)
    },
    close: () => end(child),
  }
}

async function startNginx(options: EdgeOptions): Promise<Ports & { readonly child: ChildProcess }> {
  const { dir, tls } = options
  const [port, opsPort] = [await freePort(), await freePort()]
  const plainPort = tls === undefined ? 0 : await freePort()
  await writeSite(options, { port, opsPort, plainPort })
  const log = await open(join(dir, LOG), 'a')
  // Started by root, its workers would be someone else, who must not read a temporary folder.
  const globals = `daemon off;${process.getuid?.() === 0 ? ' user root;' : ''}`
  const args = ['-p', dir, '-c', join(dir, 'conf/nginx.conf'), '-g', globals]
  // A file, because /dev/stdout cannot be opened on a socket, which is what a pipe of Node is.
  const child = spawn('nginx', args, { env: ENV, stdio: ['ignore', log.fd, log.fd] })
  await log.close()
  await untilLive(child, opsPort, join(dir, LOG))
  return { child, port, opsPort, plainPort }
}

interface Ports {
  readonly port: number
  readonly opsPort: number
  readonly plainPort: number
}

async function writeSite(options: EdgeOptions, { port, opsPort, plainPort }: Ports): Promise<void> {
  const { dir, page = join(dir, 'page'), perSecond, connections, proxies, tls } = options
  const listen: Change[] = [['/srv/page', page]]
  if (tls === undefined) {
    await adapt(dir, 'site/listen.conf', [...listen, ['listen 8080', `listen 127.0.0.1:${port}`]])
  } else {
    await adapt(dir, 'tls/listen.conf', [
      ...listen,
      ['listen 8443', `listen 127.0.0.1:${port}`],
      ['/run/secrets/edge_certificate', tls.certificate],
      ['/run/secrets/edge_key', tls.key],
    ])
    await adapt(dir, 'tls/redirect.conf', [['listen 8080', `listen 127.0.0.1:${plainPort}`]])
  }
  await adapt(dir, 'site/ops.conf', [['127.0.0.1:8081', `127.0.0.1:${opsPort}`]])
  await adapt(dir, 'site/limits.conf', [
    ...(perSecond === undefined ? [] : [['rate=50r/s', `rate=${perSecond}r/s`] as const]),
    ...(connections === undefined ? [] : [['connections 100;', `connections ${connections};`] as const]),
  ])
  if (proxies !== undefined) {
    await adapt(dir, 'site/proxies.conf', [
      ['#   set_real_ip_from 192.0.2.0/24;', `set_real_ip_from ${proxies};`],
      ['#   real_ip_header', 'real_ip_header'],
      ['#   real_ip_recursive', 'real_ip_recursive'],
    ])
  }
  await writeUpstream(dir, options.replicas)
}

/** `resolve` is newer than Debian's nginx, and there is no name server here. */
async function writeUpstream(dir: string, replicas: readonly number[]): Promise<void> {
  const servers = replicas.map(port => `server 127.0.0.1:${port} max_fails=0;`).join(' ')
  await adapt(dir, 'site/upstream.conf', [
    ['resolver 127.0.0.11 valid=2s;', ''],
    ['server api:3000 resolve max_fails=0;', servers],
  ])
}

type Change = readonly [from: string, to: string]

/** Writes a shipped file with these changes; one of site/ or tls/ into site/. */
async function adapt(dir: string, name: string, changes: readonly Change[]): Promise<void> {
  let text = await readFile(join(SHIPPED, name), 'utf8')
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`deploy/nginx/${name} must contain: ${from}`)
    text = text.replace(from, to)
  }
  await writeFile(join(dir, 'conf', name.replace(/^tls\//, 'site/')), text)
}

async function untilLive(child: ChildProcess, opsPort: number, log: string): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt++) {
    if (child.exitCode !== null) break
    if ((await statusOf(opsPort)) === 200) return
    await delay(10)
  }
  child.kill('SIGKILL')
  throw new Error(`nginx did not start:\n${await readFile(log, 'utf8')}`)
}

function statusOf(port: number): Promise<number | undefined> {
  return new Promise(resolve => {
    request({ host: '127.0.0.1', port, path: '/live', agent: false }, response => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', () => resolve(undefined))
      .end()
  })
}

async function workersOf({ pid }: ChildProcess): Promise<readonly string[]> {
  return (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ')
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}
