import { once } from 'node:events'
import { createServer } from 'node:http'
import { WebSocket, WebSocketServer } from 'ws'
import { startSimulator, syntheticCoins } from '../../packages/simulator/dist/index.js'

// A process of its own: records frames of the simulator once, keeps them in memory, and sends the same ones to every client.
const [coins = 0, perSecond = 0, total = 0] = process.argv.slice(2).map(Number)

/** How often a batch of frames goes out, in milliseconds. */
const BATCH_MS = 1
const BINANCE_PER_SECOND = coins

let now = Date.now() - 120_000
const simulator = await startSimulator({
  coins: syntheticCoins(coins, ((perSecond - BINANCE_PER_SECOND) * 60) / coins),
  clock: { now: () => now, every: () => () => {} },
  pumpMs: 0,
  limits: false,
  onFrame: ({ exchange, text }) => {
    if (isRecording) frames.push({ exchange, payload: exchange === 'upbit' ? Buffer.from(text) : text })
  },
})
/** @type {{ exchange: 'upbit' | 'binance', payload: Buffer | string }[]} */
const frames = []
let isRecording = false
await record()
const server = createServer((_request, response) => response.writeHead(404).end())
const sockets = new WebSocketServer({ server, perMessageDeflate: false })
/** @type {Map<'upbit' | 'binance', WebSocket>} */
const ready = new Map()
sockets.on('connection', (socket, request) => {
  const exchange = request.url === '/websocket/v1' ? 'upbit' : 'binance'
  socket.on('message', message => {
    const { id } = JSON.parse(message.toString())
    if (exchange === 'binance') socket.send(JSON.stringify({ result: null, id }))
    ready.set(exchange, socket)
    if (ready.size === 2) setTimeout(replay, 500, new Map(ready))
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
  bytes: frames.reduce((sum, { payload }) => sum + Buffer.byteLength(payload), 0),
  binance: frames.filter(({ exchange }) => exchange === 'binance').length,
})
process.on('disconnect', () => process.exit(0))

function simulatedCodes() {
  return syntheticCoins(coins).flatMap(({ upbit, binance }) => (upbit && binance ? [upbit.base] : []))
}

async function record() {
  const bases = simulatedCodes()
  const upbit = new WebSocket(simulator.upbitWsUrl)
  const binance = new WebSocket(`${simulator.binanceWsUrl}/ws`)
  await Promise.all([once(upbit, 'open'), once(binance, 'open')])
  const codes = ['KRW-USDT', ...bases.map(base => `KRW-${base}`)]
  upbit.send(JSON.stringify([{ ticket: 'record' }, { type: 'ticker', codes }]))
  const params = bases.map(base => `${base.toLowerCase()}usdt@miniTicker`)
  binance.send(JSON.stringify({ method: 'SUBSCRIBE', params, id: 1 }))
  await once(binance, 'message')
  isRecording = true
  while (frames.length < total) {
    now += BATCH_MS
    simulator.pump()
    await new Promise(resolve => setImmediate(resolve))
  }
  isRecording = false
  frames.length = total
  upbit.terminate()
  binance.terminate()
}

/** @param {Map<'upbit' | 'binance', WebSocket>} to */
function replay(to) {
  const started = performance.now()
  let sent = 0
  const timer = setInterval(() => {
    const due = Math.min(total, Math.floor(((performance.now() - started) / 1_000) * perSecond))
    for (; sent < due; sent++) {
      const { exchange, payload } = /** @type {(typeof frames)[number]} */ (frames[sent])
      to.get(exchange)?.send(payload)
    }
    if (sent === total) clearInterval(timer)
  }, BATCH_MS)
}
