/**
 * Lean Fastify: its CORS plugin, and one object in memory that is serialised for every request, by
 * JSON.stringify or by a response schema. No Redis, no compression, no ETag.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { historySchema, liveListSchema } from '../../apps/api/dist/contract/schemas.js'
import { SERVER_OPTIONS } from '../lib/server-options.mjs'

const api = createRequire(new URL('../../apps/api/package.json', import.meta.url))
const { fastify } = api('fastify')
const cors = api('@fastify/cors')

const { port, path, bodyFile, bySchema } = JSON.parse(process.argv[2] ?? '{}')
const document = JSON.parse(readFileSync(bodyFile, 'utf8'))
const response = { 200: 'symbol' in document ? historySchema : liveListSchema }

const app = fastify({ serverFactory: listener => createServer(SERVER_OPTIONS, listener) })
await app.register(cors)
app.get(path, bySchema ? { schema: { response } } : {}, (_request, reply) => reply.send(document))
await app.listen({ host: '127.0.0.1', port })
