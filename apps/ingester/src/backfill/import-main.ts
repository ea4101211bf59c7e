import { parseArgs } from 'node:util'
import {
  type Coin,
  type Context,
  DAY_MINUTES,
  dateOf,
  dayStart,
  KimchiError,
  type Milliseconds,
  messageOf,
  minuteOf,
  type UtcDate,
} from '@kimchi/core'
import { matchCoins, RestClient, userAgentOf } from '@kimchi/feeds'
import { systemClock, withSecretFile } from '@kimchi/runtime'
import { type KnownCoin, openRedis, type RedisConnection, SampleReader, SampleWriter } from '@kimchi/store'
import { SingleBar } from 'cli-progress'
import packageJson from '../../package.json' with { type: 'json' }
import { type Config, readConfig } from '../config.ts'
import { CandleRequests } from './candle-requests.ts'
import { HistoryImport, type Skipped } from './import-history.ts'

/** An ingester that has announced nothing for this long has ended; each does once a minute. */
const INGESTER_LIVES_MS: Milliseconds = 180_000

const HELP = `npm run backfill -- [--days N] [--coins BTC,ETH]
Stores the daily history of the last N days (365 when left out) in the Redis of a running service, from both
exchanges' candles. It may be stopped and started at any time: what is there is not fetched again.
  --days N         1 to 3650
  --coins BTC,ETH  only these coins; without it those of COINS
It reads the ingester's variables (docs/configuration.md), REDIS_URL above all.
`

const WRONG_KIND =
  'Simulated prices (of a demo) and real ones never mix: set REDIS_URL to the Redis that npm start names.\n'

const ending = new AbortController()
let isStopped = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    isStopped = true
    ending.abort()
  })
}
const context: Context = {
  clock: systemClock,
  random: Math.random,
  signal: ending.signal,
  // A person watches: warnings only, beside the bar.
  log: { debug: () => {}, info: () => {}, warn: complain, error: complain },
}

try {
  await main()
} catch (thrown) {
  if (isStopped) process.stdout.write('Stopped; run it again to go on from here.\n')
  else {
    process.stderr.write(`${thrown instanceof KimchiError ? `${thrown.code}: ` : ''}${messageOf(thrown)}\n`)
    if (thrown instanceof KimchiError && thrown.code === 'KIMCHI_ERR_PRICES_KIND')
      process.stderr.write(WRONG_KIND)
    process.exitCode = 1
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      days: { type: 'string', default: '365' },
      coins: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help === true) return void process.stdout.write(HELP)
  const named = values.coins === undefined ? {} : { COINS: values.coins }
  const config = readConfig({ ...withSecretFile(process.env), ...named })
  const days = readDays(values.days)
  const redis = openRedis(config.REDIS_URL, { name: 'kimchi-backfill', random: context.random })
  try {
    await importHistory(config, redis, days)
  } finally {
    ending.abort()
    await redis.close()
  }
}

/**
 * Brings the history of the configured coins back to `days` before today; the days of which single samples are
 * kept are the ingesters'. What is there already is not fetched again, so it may be stopped and started
 * at any time. Prints what could not be imported.
 * @throws KimchiError `KIMCHI_ERR_REDIS` when Redis is not there, `KIMCHI_ERR_UNKNOWN_SYMBOL` when it would
 * have no coin, `KIMCHI_ERR_PRICES_KIND`, `KIMCHI_ERR_GEO_BLOCKED` when an exchange's lists are refused
 */
async function importHistory(config: Config, redis: RedisConnection, days: number): Promise<void> {
  if (!(await redis.untilReady(5_000, context.signal))) {
    throw new KimchiError('KIMCHI_ERR_REDIS', `${redis.problem()}; start the service first, or set REDIS_URL`)
  }
  const reader = new SampleReader({ redis })
  const { retentionDays = config.SAMPLE_RETENTION_DAYS } = await reader.readMeta()
  const writer = new SampleWriter({ redis, prices: config.PRICES, retentionDays, log: context.log })
  // Refuses a Redis with the other kind of prices before anything is fetched.
  await writer.verify()
  const userAgent = userAgentOf(packageJson.version, config.PROJECT_URL)
  const { UPBIT_REST_URL: upbit, BINANCE_REST_URL: binance } = config
  const rest = new RestClient({ upbit, binance, userAgent }, context)
  const coins = await findCoins(rest, (await reader.readBoard()).coins, config)
  const perSecond = config.UPBIT_REQUESTS_PER_SECOND
  const requests = new CandleRequests({ rest, upbitPerSecond: perSecond / 2 }, context)
  // An ingester fetches candles of its own at the same time.
  const onStep = async () => {
    const { announcedAt = 0 } = await reader.readMeta()
    const hasIngester = context.clock.now() - announcedAt < INGESTER_LIVES_MS
    requests.upbitPerSecond = hasIngester ? perSecond / 2 : perSecond
  }
  const bar = progressBar()
  const onProgress = (done: number, total: number, symbol: string) => {
    if (!bar.isActive) bar.start(total, 0, { symbol })
    bar.update(done, { symbol })
  }
  const options = { coins, days, retentionDays, reader, writer, requests, onStep, onProgress }
  const skipped = await new HistoryImport(options, context).run().finally(() => bar.stop())
  report(skipped, unfilledDays(config, retentionDays))
}

/** Says what is missing, and what helps. */
function report(skipped: readonly Skipped[], unfilled: string | undefined): void {
  for (const { symbol, reason, days, from, to } of skipped) {
    const count = `${days} ${days === 1 ? 'day' : 'days'}`
    process.stdout.write(`${symbol}: ${count} not whole, ${from} to ${to}: ${reason}\n`)
  }
  const missing = [
    ...(skipped.some(({ mayImportAgain }) => mayImportAgain) ? ['run it again for what was left out'] : []),
    ...(unfilled ? [unfilled] : []),
  ]
  const whole = missing.length === 0
  process.stdout.write(whole ? 'History is complete.\n' : `Not complete: ${missing.join('; ')}.\n`)
}

/**
 * The coins that are asked for by name; of all coins only those that an ingester publishes, once there are
 * any. One that has left the exchanges is left out.
 */
async function findCoins(
  rest: RestClient,
  known: readonly KnownCoin[],
  { COINS: wanted, ALLOW: allow, DENY: deny }: Config,
): Promise<readonly Coin[]> {
  const listings = await rest.fetchListings()
  const { coins, leftOut, unknown } = matchCoins({ ...listings, wanted, strict: false })
  if (wanted !== 'all') {
    for (const { symbol, reason } of leftOut) complain({ reason: `${symbol}: ${reason}` }, 'coin left out')
    for (const symbol of unknown) complain({ reason: `${symbol}: not on Upbit in KRW` }, 'coin left out')
  }
  if (coins.length === 0)
    throw new KimchiError('KIMCHI_ERR_UNKNOWN_SYMBOL', 'COINS must name a coin of both exchanges, got: none')
  const published = new Set(known.filter(({ order }) => order !== undefined).map(({ symbol }) => symbol))
  const takesAll = wanted !== 'all' || published.size === 0
  return coins
    .filter(({ symbol }) => (takesAll || published.has(symbol)) && !deny.includes(symbol))
    .map(coin => ({ ...coin, allowed: allow.includes(coin.symbol) }))
}

/** Names the days of which samples are kept and that no ingester of this configuration fills. */
function unfilledDays({ BACKFILL_DAYS: filled }: Config, retentionDays: number): string | undefined {
  const today = dayStart(minuteOf(context.clock.now()))
  const ago = (days: number): UtcDate => dateOf(today - days * DAY_MINUTES)
  if (filled >= retentionDays) return undefined
  return `no ingester with BACKFILL_DAYS=${filled} fills ${ago(retentionDays)} to ${ago(filled + 1)}`
}

function complain(fields: object, message: string): void {
  process.stderr.write(`\n${message}${'reason' in fields ? `: ${fields.reason}` : ''}\n`)
}

/** @throws KimchiError `KIMCHI_ERR_CONFIG` */
function readDays(text: string): number {
  if (/^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= 3_650) return Number(text)
  const message = `--days must be an integer from 1 to 3650, got: ${JSON.stringify(text)}`
  throw new KimchiError('KIMCHI_ERR_CONFIG', message)
}

/** A bar on a terminal; a line every five seconds in a log. */
function progressBar(): SingleBar {
  return new SingleBar({
    format: 'days of coins {bar} {percentage} %  {value}/{total}  {symbol}  {eta_formatted} left',
    noTTYOutput: true,
    notTTYSchedule: 5_000,
    stopOnComplete: false,
    // Ctrl-C drops the step under way; everything before it is stored.
    gracefulExit: false,
  })
}
