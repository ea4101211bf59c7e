import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { prepareNginx } from '../contestants/nginx.mjs'
import { prepareWebdis, WEBDIS_PATH } from '../contestants/webdis.mjs'
import { exchange, own } from './exchange.mjs'
import { API, apiEnv, cpuSeconds, freePort, isInstalled, startServer, untilAnswers } from './programs.mjs'

const FRAMEWORK = '@chainlink/external-adapter-framework'
const FRAMEWORK_VERSION = '2.18.1'

/** Take part when peers are installed. */
export const ADAPTERS = {
  'adapter framework, one coin': { METRICS_ENABLED: 'true' },
  'adapter framework, no metrics': { METRICS_ENABLED: 'false' },
}

/** @typedef {import('./rounds.mjs').Contestant} Contestant */

/**
 * @typedef {object} Scenario
 * @property {string} name
 * @property {number} coins
 * @property {number} days of history
 * @property {string} path
 * @property {readonly string[]} [rivals] who can answer it
 * @property {Record<string, string>} [headers]
 * @property {boolean} [conditional] asks with the tag that it has
 */

/**
 * Starts everyone who takes part.
 * @param {Scenario} scenario
 * @param {{
 *   redis: import('../../packages/testkit/dist/index.js').TestRedis, dir: string, peersIn?: string,
 * }} options
 * @returns {Promise<Contestant[]>}
 */
export async function startContestants(scenario, { redis, dir, peersIn }) {
  const { path, rivals = [], conditional = false, coins } = scenario
  const redisPid = Number(/process_id:(\d+)/.exec(await redis.client().info('server'))?.[1])
  const headers = { ...scenario.headers }
  const api = await startNode([API], port => ({ env: apiEnv(redis.url, port), path }))
  const plain = await exchange(api.url, {})
  if (conditional) headers['If-None-Match'] = String((await exchange(api.url, headers)).headers.etag)
  const answer = await exchange(api.url, headers)
  const bodyFile = join(dir, `body-${new URL(api.url).port}`)
  writeFileSync(bodyFile, answer.body)
  const same = {
    status: answer.status,
    headers: own(answer.headers),
    ...(answer.body.length > 0 ? { bodyFile } : {}),
  }
  const bare = await startContestant('bare', path, same)
  const contestants = [
    { name: 'bare node:http', headers, conditional, ...bare },
    { name: 'API', headers, conditional, ...api },
  ]
  const [route = path] = path.split('?')
  if (rivals.includes('lean')) {
    for (const bySchema of [false, true]) {
      const lean = await startContestant('lean', path, { path: route, bodyFile, bySchema })
      contestants.push({ name: bySchema ? 'lean Fastify, by schema' : 'lean Fastify', headers, ...lean })
    }
  }
  if (rivals.includes('obvious')) {
    const { url, pids } = await startContestant('obvious', path, { redisUrl: redis.url })
    contestants.push({ name: 'obvious design', headers, url, pids: () => [...pids(), redisPid] })
  }
  if (isInstalled('nginx')) {
    const nginx = await startNginx({ dir, path, route, plain })
    contestants.push({ name: 'nginx, static file', headers, conditional, ...nginx })
  }
  if (rivals.includes('webdis') && isInstalled('webdis')) {
    const port = await freePort()
    const child = startServer('webdis', prepareWebdis({ dir, port, redisPort: redis.port }))
    const url = `http://127.0.0.1:${port}${WEBDIS_PATH}`
    await untilAnswers(url)
    contestants.push({ name: 'Webdis', headers, url, pids: () => [child.pid, redisPid] })
  }
  if (rivals.includes('adapter') && peersIn !== undefined)
    contestants.push(...(await startAdapters({ dir, coins, peersIn })))
  for (const { pids } of contestants) pids().forEach(cpuSeconds)
  return contestants
}

/**
 * Installs what isn't a dependency.
 * @param {string} dir
 */
export function installPeers(dir) {
  execFileSync(
    'npm',
    ['install', '--prefix', dir, '--ignore-scripts', '--no-audit', '--no-fund', '--silent'].concat(
      `${FRAMEWORK}@${FRAMEWORK_VERSION}`,
    ),
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  return dir
}

/**
 * Chainlink's adapter framework is asked for one coin by POST; all of them are in its cache.
 * @param {{ dir: string, coins: number, peersIn: string }} options
 */
async function startAdapters({ dir, coins, peersIn }) {
  const body = JSON.stringify({ data: { symbol: 'BTC' } })
  const script = join(dir, 'adapter.lua')
  writeFileSync(
    script,
    `wrk.method = 'POST'\nwrk.body = '${body}'\nwrk.headers['Content-Type'] = 'application/json'\n`,
  )
  const program = join(import.meta.dirname, '../contestants/adapter.mjs')
  const adapters = []
  for (const [name, metrics] of Object.entries(ADAPTERS)) {
    const port = await freePort()
    const child = startServer(process.execPath, [program, JSON.stringify({ peersIn, coins })], {
      EA_HOST: '127.0.0.1',
      EA_PORT: String(port),
      METRICS_PORT: String(await freePort()),
      LOG_LEVEL: 'warn',
      ...metrics,
    })
    const url = `http://127.0.0.1:${port}/`
    await untilAnswers(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    adapters.push({ name, headers: {}, url, pids: () => [child.pid], script })
  }
  return adapters
}

/**
 * @param {{ dir: string, path: string, route: string, plain: Awaited<ReturnType<typeof exchange>> }} options
 */
async function startNginx({ dir, path, route, plain }) {
  const port = await freePort()
  const files = join(dir, `nginx-${port}`)
  const args = prepareNginx({ dir: files, port, path: route, headers: own(plain.headers), body: plain.body })
  const child = startServer('nginx', args)
  const url = `http://127.0.0.1:${port}${path}`
  await untilAnswers(url)
  return { url, pids: () => [child.pid] }
}

/** @param {string} name @param {string} path @param {object} options */
function startContestant(name, path, options, flags = /** @type {readonly string[]} */ ([]), env = {}) {
  const program = join(import.meta.dirname, `../contestants/${name}.mjs`)
  return startNode([...flags, program], port => ({ args: [JSON.stringify({ port, ...options })], env, path }))
}

/**
 * @param {readonly string[]} args
 * @param {(port: number) => { args?: readonly string[], env: Record<string, string>, path: string }}
 * optionsFor
 */
async function startNode(args, optionsFor) {
  const port = await freePort()
  const { args: more = [], env, path } = optionsFor(port)
  const child = startServer(process.execPath, [...args, ...more], env)
  const url = `http://127.0.0.1:${port}${path}`
  await untilAnswers(url)
  return { url, pids: () => [child.pid] }
}
