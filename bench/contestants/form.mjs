/**
 * One form of answering with ready-made bytes. All forms do the same work for a request: route it, choose the
 * coding, compare the tag, compute max-age, count, and send the same headers and bytes.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { acceptedCodings as memoizedCodings } from '../../apps/api/dist/http/coding.js'

const api = createRequire(new URL('../../apps/api/package.json', import.meta.url))
const { fastify } = api('fastify')
const cors = api('@fastify/cors')

const { port, bodyFile, form, payload, headers: headerForm, scan, memo } = JSON.parse(process.argv[2] ?? '{}')
const PATH = '/api/v1/kimchi-premium'
const EXPOSED = 'ETag, Retry-After, Age, Date'
const identity = readFileSync(bodyFile)
const bodies = new Map([
  ['identity', identity],
  ['gzip', gzipSync(identity)],
  ['br', brotliCompressSync(identity)],
])
const tags = new Map([
  ['identity', '"0123456789012345678901"'],
  ['gzip', '"0123456789012345678901-gzip"'],
  ['br', '"0123456789012345678901-br"'],
])
const newest = Date.now()
const counts = { live: new Float64Array(600) }
const prepared = new Map()

const WEIGHT = /;\s*q=0(\.0*)?\s*(,|$)/
const plainCodings = header => {
  if (header === undefined) return ['identity']
  if (WEIGHT.test(header)) return memoizedCodings(header)
  const codings = []
  if (header.includes('br')) codings.push('br')
  if (header.includes('gzip')) codings.push('gzip')
  codings.push('identity')
  return codings
}
const codingsOf = memo ? memoizedCodings : plainCodings

const CORS = { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED }

function prepare(coding, maxAge) {
  const body = bodies.get(coding)
  const own = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(body.length),
    ...(coding === 'identity' ? {} : { 'content-encoding': coding }),
    etag: tags.get(coding),
    vary: 'Accept-Encoding',
    'cache-control': `public, max-age=${maxAge}, stale-while-revalidate=2, stale-if-error=600`,
    'x-content-type-options': 'nosniff',
  }
  const sent =
    payload === 'latin1' && body.length <= 12_000
      ? body.toString('latin1')
      : payload === 'string' && coding === 'identity'
        ? body.toString()
        : body
  return {
    maxAge,
    own,
    flat: Object.entries({ ...own, ...CORS }).flat(),
    all: { ...own, ...CORS },
    body: sent,
  }
}

function headerOf(raw, name) {
  for (let index = 0; index < raw.length; index += 2) {
    const candidate = raw[index]
    if (candidate.length === name.length && candidate.toLowerCase() === name) return raw[index + 1]
  }
  return undefined
}

function choose(request) {
  const accept = scan ? headerOf(request.rawHeaders, 'accept-encoding') : request.headers['accept-encoding']
  const match = scan ? headerOf(request.rawHeaders, 'if-none-match') : request.headers['if-none-match']
  const codings = codingsOf(accept)
  const known = match === undefined ? undefined : codings.find(coding => match.includes(tags.get(coding)))
  const coding = known ?? codings[0]
  const maxAge = Math.max(1, Math.ceil((newest + 62_000 - Date.now()) / 1000))
  let response = prepared.get(coding)
  if (response?.maxAge !== maxAge) {
    response = prepare(coding, maxAge)
    prepared.set(coding, response)
  }
  counts.live[known ? 304 : 200] += 1
  return { status: known ? 304 : 200, response }
}

function writeRaw(raw, { status, response }) {
  const headers = headerForm === 'flat' ? response.flat : response.all
  if (payload === 'latin1')
    raw.writeHead(status, headers).end(status === 304 ? undefined : response.body, 'latin1')
  else raw.writeHead(status, headers).end(status === 304 ? undefined : response.body)
}

const { createServer } = await import('node:http')
const options = { keepAliveTimeout: 65_000, optimizeEmptyRequests: true }
const app = fastify({
  ...(form === 'fast-path'
    ? {
        serverFactory: listener =>
          createServer(options, (request, response) => {
            if (request.url === PATH && request.method === 'GET') writeRaw(response, choose(request))
            else listener(request, response)
          }),
      }
    : { serverFactory: listener => createServer(options, listener) }),
  exposeHeadRoutes: false,
})
if (form === 'on-request') {
  app.addHook('onRequest', (request, reply, next) => {
    if (request.raw.url !== PATH) return next()
    reply.hijack()
    writeRaw(reply.raw, choose(request.raw))
  })
}
await app.register(cors, {
  exposedHeaders: EXPOSED,
  methods: 'GET, HEAD, OPTIONS',
  strictPreflight: false,
  maxAge: 86_400,
})
app.get(PATH, (request, reply) => {
  const { status, response } = choose(request.raw)
  if (form === 'hijack') {
    reply.hijack()
    return writeRaw(reply.raw, { status, response })
  }
  reply
    .code(status)
    .headers(response.own)
    .send(status === 304 ? undefined : response.body)
})
await app.listen({ host: '127.0.0.1', port })
