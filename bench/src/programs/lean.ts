/**
 * Lean Fastify: its CORS plugin, and one object in memory that is serialised for every request. No Redis, no
 * compression, no ETag.
 */
import { readFileSync } from 'node:fs'
import { fastifyCors } from '@fastify/cors'
import { fastify } from 'fastify'

const { port, path, bodyFile } = JSON.parse(process.argv[2] ?? '{}')
const document = JSON.parse(readFileSync(bodyFile, 'utf8'))

const app = fastify()
await app.register(fastifyCors)
app.get(path, (_request, reply) => reply.send(document))
await app.listen({ host: '127.0.0.1', port })
