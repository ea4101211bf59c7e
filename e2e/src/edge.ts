import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '@kimchi/local-redis'
import { ask, eventually, followProgram, type Program } from '@kimchi/testkit'
import { openNameServer } from './name-server.ts'

/** How an edge is opened. */
export interface EdgeOptions {
  /** Folder of its own for its configuration, cache and log. */
  readonly dir: string
  /** IPv4 addresses of the API's replicas. */
  readonly replicas: readonly string[]
  /** The port of all of them. */
  readonly apiPort: number
  /** Folder of static files served at `/`. @default an empty one */
  readonly page?: string
  /** Requests per second that one client may make. @default as shipped, 50 */
  readonly perSecond?: number
  /** Requests that one client may have open. @default as shipped, 100 */
  readonly connections?: number
  /** Network whose `X-Forwarded-For` is believed, such as 127.0.0.1. @default none */
  readonly proxies?: string
  /** Worker processes. @default as shipped, 2 */
  readonly workers?: number
  /** PEM files; with them the public port speaks TLS. @default plain HTTP */
  readonly tls?: { readonly certificate: string; readonly key: string }
}

/** An nginx as deploy/nginx/start.sh starts it; of its files only ports and limits in site/ are changed. */
export type Edge = Awaited<ReturnType<typeof openEdge>>

const LOG = 'edge.log'
const SHIPPED = fileURLToPath(new URL('../../deploy/nginx', import.meta.url))

/** Where scripts/image-nginx.sh puts an nginx of the image's branch. */
const NGINX = fileURLToPath(new URL('../../.cache/image-nginx', import.meta.url))

/** Why there is no edge here, for a test that is skipped then; false when there is one. */
export const lacksNginx = existsSync(join(NGINX, 'nginx'))
  ? false
  : 'nginx 1.27.3 or newer is not here (scripts/image-nginx.sh)'

/**
 * Starts an nginx on free ports and resolves when it answers.
 * @throws Error with nginx's own words when it does not start
 */
export async function openEdge(options: EdgeOptions) {
  const { dir } = options
  await cp(SHIPPED, join(dir, 'shipped'), { recursive: true })
  await mkdir(join(dir, 'page'), { recursive: true })
  if (options.workers !== undefined) {
    await adapt(dir, 'nginx.conf', [['worker_processes 2;', `worker_processes ${options.workers};`]])
  }
  const names = await openNameServer(options.replicas)
  // nginx accepts a port here, which the resolv.conf of a machine never has.
  await writeFile(join(dir, 'resolv.conf'), `nameserver 127.0.0.1:${names.port}\n`)
  const { nginx, ...ports } = await startNginx(options).catch(error => {
    // Another program took a port between choosing and listening.
    if (!String(error).includes('bind()')) throw error
    return startNginx(options)
  })
  let closing: Promise<void> | undefined
  return {
    pid: nginx.pid,
    /** `port`; `opsPort` for `/live` and `/metrics`; `plainPort`, which redirects to TLS, 0 without TLS. */
    ...ports,
    /** Its log file: a line of JSON for each request that reached a replica. */
    log: join(dir, LOG),
    /** Has the name of the API stand for these replicas; resolves when nginx has asked for it. */
    scale: (replicas: readonly string[]) => names.answerWith(replicas),
    /** Ends it in order. Idempotent. */
    close() {
      closing ??= nginx.end().then(() => names.close())
      return closing
    },
  }
}

async function startNginx(options: EdgeOptions) {
  const { dir, apiPort, tls } = options
  const [port, opsPort] = [await freePort(), await freePort()]
  const plainPort = tls === undefined ? 0 : await freePort()
  await writeSite(options, { port, opsPort, plainPort })
  const log = await open(join(dir, LOG), 'a')
  // Started by root, its workers would be someone else, who must not read a temporary folder.
  const directives = process.getuid?.() === 0 ? ['user root;'] : []
  const env = {
    PATH: `${NGINX}:${process.env.PATH}`,
    NGINX_MODULES: join(NGINX, 'modules'),
    EDGE_PREFIX: dir,
    EDGE_RESOLV_CONF: join(dir, 'resolv.conf'),
    API: `api:${apiPort}`,
  }
  // A file, because /dev/stdout cannot be opened on a socket, which is what a pipe of Node is.
  const stdio = ['ignore', log.fd, log.fd] as const
  const child = spawn(join(dir, 'shipped/start.sh'), directives, { env, stdio: [...stdio] })
  await log.close()
  const nginx = followProgram(child, 'nginx')
  await untilAnswers(nginx, opsPort, '/live', 200, join(dir, LOG))
  // It may live before it knows where the replicas are. Only they know that there is no such route.
  if (tls === undefined) await untilAnswers(nginx, port, '/api', 404, join(dir, LOG))
  return { nginx, port, opsPort, plainPort }
}

async function writeSite(
  options: EdgeOptions,
  ports: Readonly<Record<'port' | 'opsPort' | 'plainPort', number>>,
) {
  const { port, opsPort, plainPort } = ports
  const { dir, page = join(dir, 'page'), perSecond, connections, proxies, tls } = options
  if (tls === undefined) {
    await adapt(dir, 'site/listen.conf', [['/srv/page', page], ...listen(8080, port)])
  } else {
    await adapt(dir, 'tls/listen.conf', [
      ['/srv/page', page],
      ...listen(8443, port),
      ['/run/secrets/edge_certificate', tls.certificate],
      ['/run/secrets/edge_key', tls.key],
    ])
    await adapt(dir, 'tls/redirect.conf', listen(8080, plainPort))
  }
  await adapt(dir, 'site/ops.conf', listen(8081, opsPort))
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
}

type Change = readonly [from: string, to: string]

/** Listens on loopback alone, and on a port of its own. */
function listen(shipped: number, port: number): Change[] {
  return [
    [`listen ${shipped}`, `listen 127.0.0.1:${port}`],
    [`listen [::]:${shipped}`, `listen [::1]:${port}`],
  ]
}

/** Writes a shipped file with these changes; one of site/ or tls/ into site/. */
async function adapt(dir: string, name: string, changes: readonly Change[]): Promise<void> {
  let text = await readFile(join(SHIPPED, name), 'utf8')
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`deploy/nginx/${name} must contain: ${from}`)
    text = text.replace(from, to)
  }
  await writeFile(join(dir, 'shipped', name.replace(/^tls\//, 'site/')), text)
}

/** @throws Error with nginx's log when it ends, or does not answer so within 10 s */
async function untilAnswers(nginx: Program, port: number, path: string, status: number, log: string) {
  const { child } = nginx
  const answers = () =>
    ask(port, path)
      .then(answer => answer.status === status)
      .catch(() => false)
  const isOver = async () => child.exitCode !== null || (await answers())
  const isKnown = await eventually('an answer', isOver).catch(() => false)
  if (isKnown && child.exitCode === null) return
  // Its workers would outlive a SIGKILL.
  await nginx.end()
  throw new Error(`nginx did not start:\n${await readFile(log, 'utf8')}`)
}
