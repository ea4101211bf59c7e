import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '@kimchi/local-redis'
import { ask, createFolder, eventually, followProgram, type Program, type Teardown } from '@kimchi/testkit'
import { openNameServer, type Reply } from './name-server.ts'

export interface EdgeOptions {
  /** IPv4 addresses of the API's replicas, or what else their name server says when it is asked for such. */
  readonly addresses: Reply
  /** What it says when it is asked for IPv6 addresses. @default none */
  readonly ipv6?: Reply
  /** Where it keeps all. @default a folder that is removed with the test */
  readonly dir?: string
  /** Open as soon as it lives, without a replica. */
  readonly isAlone?: boolean
  /** The port on which every replica listens. */
  readonly apiPort: number
  /** Folder of static files served at `/`. @default an empty one */
  readonly page?: string
  /** Requests per second that one client may make. @default as shipped, 50 */
  readonly perSecond?: number
  /** Network whose `X-Forwarded-For` is believed, such as 127.0.0.1. @default none */
  readonly proxies?: string
  /** Lines of site/names.conf. @default none */
  readonly names?: string
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
 * Starts an nginx on free ports and resolves when it answers; it ends with the test.
 * @throws Error with nginx's own words when it does not start
 */
export async function openEdge(t: Teardown, options: EdgeOptions) {
  const dir = options.dir ?? (await createFolder(t))
  await cp(SHIPPED, join(dir, 'shipped'), { recursive: true })
  await mkdir(join(dir, 'page'), { recursive: true })
  const names = await openNameServer(options.addresses, options.ipv6)
  t.teardown(names.close)
  // nginx accepts a port here, which the resolv.conf of a machine never has.
  await writeFile(join(dir, 'resolv.conf'), `nameserver 127.0.0.1:${names.port}\n`)
  const { nginx, ...ports } = await startNginx(dir, options).catch(error => {
    // Another program took a port between choosing and listening.
    if (!String(error).includes('bind()')) throw error
    return startNginx(dir, options)
  })
  // A SIGKILL would leave its workers alive.
  t.teardown(() => nginx.end())
  return {
    pid: nginx.pid,
    /** `port`; `opsPort` for `/live` and `/metrics`; `plainPort`, which redirects to TLS, 0 without TLS. */
    ...ports,
    dir,
    /** Its log file: a line of JSON for each request that reached a replica. */
    log: join(dir, LOG),
    /** Has the name of the API stand for these replicas; resolves when nginx has asked for it. */
    scale: names.answerWith,
    /** Ends it in order. Idempotent. */
    close: () => nginx.end(),
  }
}

async function startNginx(dir: string, options: EdgeOptions) {
  const { apiPort, tls } = options
  const [port, opsPort, ownPort] = [await freePort(), await freePort(), await freePort()]
  const plainPort = tls === undefined ? 0 : await freePort()
  await writeSite(dir, options, { port, opsPort, ownPort, plainPort })
  const log = await open(join(dir, LOG), 'a')
  // Root's nginx runs its workers as another user, who must not read a temporary folder.
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
  if (tls === undefined && !options.isAlone) await untilAnswers(nginx, port, '/api', 404, join(dir, LOG))
  return { nginx, port, opsPort, plainPort }
}

async function writeSite(
  dir: string,
  options: EdgeOptions,
  ports: Readonly<Record<'port' | 'opsPort' | 'ownPort' | 'plainPort', number>>,
) {
  const { port, opsPort, ownPort, plainPort } = ports
  const { page = join(dir, 'page'), perSecond = 50, workers = 2, proxies, tls } = options
  if (options.names !== undefined) {
    await mkdir(join(dir, 'shipped/overlay'))
    await writeFile(join(dir, 'shipped/overlay/names.conf'), options.names)
  }
  await adapt(dir, 'nginx.conf', [
    ['worker_processes 2;', `worker_processes ${workers};`],
    ['listen 127.0.0.1:8082', `listen 127.0.0.1:${ownPort}`],
    ['http://127.0.0.1:8082', `http://127.0.0.1:${ownPort}`],
  ])
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
  await adapt(dir, 'site/limits.conf', [['rate=50r/s', `rate=${perSecond}r/s`]])
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

/** @throws Error with nginx's log when it ends, or does not answer so in time */
async function untilAnswers(nginx: Program, port: number, path: string, status: number, log: string) {
  const { child } = nginx
  const isOver = async () => {
    const answer = await ask(port, path).catch(() => undefined)
    return child.exitCode !== null || answer?.status === status
  }
  await eventually('an answer', isOver).catch(() => nginx.end())
  if (child.exitCode !== null) throw new Error(`nginx did not start:\n${await readFile(log, 'utf8')}`)
}
