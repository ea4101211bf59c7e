/**
 * One form of answering with ready-made bytes, with tricks or without. Every form does the same for a
 * request: find its route, decide what to answer, count, and send the same headers and bytes. `app` is the
 * API's own app.
 */
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { acceptedCodings } from '../../apps/api/dist/http/accepted-codings.js'
import { createApp } from '../../apps/api/dist/http/app.js'
import { countResponse, createRequestCounters } from '../../apps/api/dist/http/request-counters.js'
import { CORS_HEADERS, etagOf, JSON_HEADERS, maxAgeAt } from '../../apps/api/dist/http/response.js'
import { createLogger, systemClock } from '../../packages/runtime/dist/index.js'
import { listOf } from '../lib/lists.mjs'
import { SERVER_OPTIONS } from '../lib/server-options.mjs'

const api = createRequire(new URL('../../apps/api/package.json', import.meta.url))
const { fastify } = api('fastify')
const cors = api('@fastify/cors')

/** Bodies up to this many bytes go out in one piece with their headers when they are a string. */
const SMALL = 12_000
const PATH = '/api/v1/kimchi-premium'
const { port, coins, form, tricks } = JSON.parse(process.argv[2] ?? '{}')
const { prepared, flat, latin1, scan } = Object.fromEntries(tricks.map(trick => [trick, true]))
const document = await listOf(coins)
const bodies = new Map(
  [['identity', document.plain], ...document.coded].map(([coding, pieces]) => [
    coding,
    Buffer.concat(pieces),
  ]),
)
const counters = createRequestCounters()
const ready = new Map()
const texts = new Map()

/** What to answer, as respond() decides it, by the tricks in use. */
function decide(request) {
  const header = name => (scan ? scanned(request.rawHeaders, name) : request.headers[name])
  const codings = acceptedCodings(header('accept-encoding'))
  const tags = header('if-none-match')
  const known = tags && codings.find(coding => tags.includes(etagOf(document, coding)))
  const status = known ? 304 : 200
  const coding = known ?? codings[0]
  const maxAge = maxAgeAt(Date.now(), document.minute)
  const key = `${status}${coding}`
  const held = ready.get(key)
  if ((prepared || flat) && held?.maxAge === maxAge) return held
  const made = { maxAge, ...prepare(status, coding, maxAge) }
  ready.set(key, made)
  return made
}

function prepare(status, coding, maxAge) {
  const bytes = bodies.get(coding)
  const shared = {
    etag: etagOf(document, coding),
    vary: 'Accept-Encoding',
    'cache-control': `public, max-age=${maxAge}, stale-while-revalidate=2, stale-if-error=600`,
  }
  const own = { ...JSON_HEADERS, 'content-length': String(bytes.length), ...shared }
  if (coding !== 'identity') own['content-encoding'] = coding
  const headers = status === 304 ? shared : own
  const all = { ...headers, ...CORS_HEADERS }
  // Fastify sends strings as UTF-8, so that only JSON can be one there.
  const isText = latin1 && bytes.length <= SMALL && (form !== 'plain' || coding === 'identity')
  const body = status === 304 ? undefined : isText ? textOf(coding, bytes) : bytes
  return { status, headers, sent: flat ? Object.entries(all).flat() : all, body }
}

function textOf(coding, bytes) {
  const text = texts.get(coding) ?? bytes.toString('latin1')
  texts.set(coding, text)
  return text
}

function scanned(raw, name) {
  for (let index = 0; index < raw.length; index += 2) {
    if (raw[index].length === name.length && raw[index].toLowerCase() === name) return raw[index + 1]
  }
  return undefined
}

/** Past the framework. */
function answer(request, response) {
  const made = decide(request)
  countResponse(counters, 'live', made.status)
  response.writeHead(made.status, made.sent).end(made.body, 'latin1')
}

/** Through the framework. */
function reply(request, response) {
  const { status, headers, body } = decide(request.raw)
  countResponse(counters, 'live', status)
  response.code(status).headers(headers).send(body)
}

async function formed() {
  const isFast = request => request.url === PATH && request.method === 'GET'
  const app = fastify({
    serverFactory: listener =>
      createServer(SERVER_OPTIONS, (request, response) =>
        form === 'fast path' && isFast(request) ? answer(request, response) : listener(request, response),
      ),
    exposeHeadRoutes: false,
  })
  const hijack = (request, response) => {
    response.hijack()
    answer(request.raw, response.raw)
  }
  const options = {
    hook: form === 'onRequest' ? 'preParsing' : 'onRequest',
    strictPreflight: false,
    maxAge: 86_400,
  }
  app.register(cors, { ...options, exposedHeaders: CORS_HEADERS['access-control-expose-headers'] })
  if (form === 'onRequest') app.get(PATH, { onRequest: hijack }, reply)
  else app.get(PATH, form === 'handler' ? hijack : reply)
  return app
}

const documents = { live: () => document, history: () => null, load: async () => {} }
const app =
  form === 'app'
    ? createApp({ documents, clock: systemClock, log: createLogger('bench', 'silent'), counters })
    : await formed()
await app.listen({ host: '127.0.0.1', port })
