/**
 * The obvious design: Fastify with its CORS plugin and response schemas, and ioredis reading the hashes for
 * every request. Same data, same answers, no memory of its own.
 */
import { createRequire } from 'node:module'

const api = createRequire(new URL('../../apps/api/package.json', import.meta.url))
const store = createRequire(new URL('../../packages/store/package.json', import.meta.url))
const { fastify } = api('fastify')
const cors = api('@fastify/cors')
const { Redis } = store('ioredis')
const { historySchema, liveListSchema } = await import('../../apps/api/dist/contract/schemas.js')
const { toDailyRow } = await import('../../apps/api/dist/documents/wire.js')

const { port, redisUrl } = JSON.parse(process.argv[2] ?? '{}')
const redis = new Redis(redisUrl)
const app = fastify()
await app.register(cors, { origin: '*' })

app.get('/api/v1/kimchi-premium', { schema: { response: { 200: liveListSchema } } }, async () => {
  const [coins, rows] = await Promise.all([redis.hgetall('{kp}:coins'), redis.hgetall('{kp}:live')])
  const order = new Map(Object.entries(coins).map(([symbol, coin]) => [symbol, JSON.parse(coin).order]))
  const data = Object.values(rows)
    .map(row => JSON.parse(row))
    .sort((a, b) => order.get(a.symbol) - order.get(b.symbol))
  const updated_at = data.reduce((newest, row) => (row.snapshot_at > newest ? row.snapshot_at : newest), '')
  return { result: 'ok', updated_at, count: data.length, note: 'Premium is USDT-based.', data }
})

app.get(
  '/api/v1/kimchi-premium/:symbol/daily',
  { schema: { response: { 200: historySchema } } },
  async ({ params: { symbol }, query: { days = 365 } }) => {
    const [coin, rows] = await Promise.all([
      redis.hget('{kp}:coins', symbol),
      redis.hgetall(`{kp}:daily:${symbol}`),
    ])
    const data = Object.keys(rows)
      .sort()
      .slice(-days)
      .map(date => toDailyRow({ date, ...JSON.parse(rows[date]) }))
    return { result: 'ok', symbol, name: JSON.parse(coin).name, count: data.length, data }
  },
)

await app.listen({ host: '127.0.0.1', port })
