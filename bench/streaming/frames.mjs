import { once } from 'node:events'
import { createServer } from 'node:http'
import { WebSocket, WebSocketServer } from 'ws'
import { startSimulator, syntheticCoins } from '../../packages/simulator/dist/index.js'

// A process of its own: records frames of the simulator once, keeps them in memory, and sends the same ones
// to every client.
const [coins = 0, perSecond = 0, total = 0] = process.argv.slice(2).map(Number)

/** How often a batch of frames goes out, in milliseconds. */
const BATCH_MS = 1
const BINANCE_PER_SECOND = coins

let now = Date.now() - 120_000
/** The same trades in every form in which a client may ask for them. */
/** @type {Record<string, (Buffer | string)[]>} */
const recorded = { DEFAULT: [], SIMPLE: [], raw: [], combined: [] }
/** Which exchange sends next. */
/** @type {('upbit' | 'binance')[]} */
const order = []
let isRecording = false
const simulator = await startSimulator({
  coins: syntheticCoins(coins, ((perSecond - BINANCE_PER_SECOND) * 60) / coins),
  clock: { now: () => now, every: () => () => {} },
  pumpMs: 0,
  limits: false,
  onFrame: ({ exchange, text }) => {
    if (!isRecording) return
    const [whole, other] = /** @type {const} */ (
      exchange === 'upbit' ? ['DEFAULT', 'SIMPLE'] : ['raw', 'combined']
    )
    const form = text.startsWith(exchange === 'upbit' ? '{"ty"' : '{"stream"') ? other : whole
    recorded[form]?.push(exchange === 'upbit' ? Buffer.from(text) : text)
    if (form === whole) order.push(exchange)
  },
})
await record()
const server = createServer((_request, response) => response.writeHead(404).end())
const sockets = new WebSocketServer({ server, perMessageDeflate: false })
/** @type {Map<'upbit' | 'binance', { socket: WebSocket, form: string }>} */
const ready = new Map()
sockets.on('connection', (socket, request) => {
  const exchange = request.url === '/websocket/v1' ? 'upbit' : 'binance'
  socket.on('message', message => {
    const subscription = JSON.parse(message.toString())
    if (exchange === 'binance') socket.send(JSON.stringify({ result: null, id: subscription.id }))
    const isCombined = request.url === '/stream'
    const { format = 'DEFAULT' } = exchange === 'upbit' ? subscription.at(-1) : {}
    const isFirst = ready.get(exchange)?.socket !== socket
    ready.set(exchange, { socket, form: exchange === 'upbit' ? format : isCombined ? 'combined' : 'raw' })
    // What is sent again to the same connection is a question for snapshots.
    if (isFirst && ready.size === 2) setTimeout(replay, 500, new Map(ready))
  })
  socket.on('close', () => ready.delete(exchange))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
process.send?.({
  restUrl: simulator.url,
  wsUrl: `ws://127.0.0.1:${port}`,
  codes: simulatedCodes(),
  binance: order.filter(exchange => exchange === 'binance').length,
  bytes: Object.fromEntries(
    Object.entries(recorded).map(([form, frames]) => [
      form,
      frames.reduce((sum, frame) => sum + Buffer.byteLength(frame), 0) / frames.length,
    ]),
  ),
})
process.on('disconnect', () => process.exit(0))

function simulatedCodes() {
  return syntheticCoins(coins).flatMap(({ upbit, binance }) => (upbit && binance ? [upbit.base] : []))
}

async function record() {
  const bases = simulatedCodes()
  const codes = ['KRW-USDT', ...bases.map(base => `KRW-${base}`)]
  const params = bases.map(base => `${base.toLowerCase()}usdt@miniTicker`)
  const subscribe = { method: 'SUBSCRIBE', params, id: 1 }
  const upbit = (/** @type {string} */ format) => [
    { ticket: 'record' },
    { type: 'ticker', codes },
    { format },
  ]
  const clients = [
    await open(simulator.upbitWsUrl, upbit('DEFAULT')),
    await open(simulator.upbitWsUrl, upbit('SIMPLE')),
    await open(`${simulator.binanceWsUrl}/ws`, subscribe),
    await open(`${simulator.binanceWsUrl}/stream`, subscribe),
  ]
  isRecording = true
  while (order.length < total) {
    now += BATCH_MS
    simulator.pump()
    await new Promise(resolve => setImmediate(resolve))
  }
  isRecording = false
  order.length = total
  for (const client of clients) client.terminate()
}

/**
 * @param {string} url
 * @param {object} subscription
 */
async function open(url, subscription) {
  const client = new WebSocket(url)
  await once(client, 'open')
  client.send(JSON.stringify(subscription))
  await once(client, 'message')
  return client
}

/** @param {Map<'upbit' | 'binance', { socket: WebSocket, form: string }>} to */
function replay(to) {
  const started = performance.now()
  const at = { upbit: 0, binance: 0 }
  let sent = 0
  const timer = setInterval(() => {
    const due = Math.min(total, Math.floor(((performance.now() - started) / 1_000) * perSecond))
    for (; sent < due; sent++) {
      const exchange = /** @type {'upbit' | 'binance'} */ (order[sent])
      const { socket, form = '' } = to.get(exchange) ?? {}
      socket?.send(/** @type {Buffer | string} */ (recorded[form]?.[at[exchange]++]))
    }
    if (sent === total) clearInterval(timer)
  }, BATCH_MS)
}
