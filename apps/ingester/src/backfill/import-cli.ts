import { setMaxListeners } from 'node:events'
import type { Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import {
  type Coin,
  type Context,
  DAY_MINUTES,
  dateOf,
  dayStart,
  type EpochMs,
  integerSetting,
  KimchiError,
  type Log,
  messageOf,
  minuteOf,
  readSettings,
  type UtcDate,
} from '@kimchi/core'
import { createDoors, RestClient } from '@kimchi/feeds'
import { withSecretFile } from '@kimchi/runtime'
import { type KnownCoin, openRedis, type RedisConnection, SampleReader, SampleWriter } from '@kimchi/store'
import { SingleBar } from 'cli-progress'
import { type Config, doorSettings, readConfig } from '../config.ts'
import type { Network } from '../start.ts'
import { HistoryImport, type Skipped } from './import-history.ts'

const DAYS = integerSetting('whole UTC days before today', 365, { min: 1, max: 3_650 })

const HELP = `npm run backfill -- [--days N] [--coins BTC,ETH]
Stores the daily history of the last N days (365 when left out) in the Redis of a running service, from both
exchanges' candles. It may be stopped and started at any time: what is there is not fetched again.
  --days N         1 to 3650
  --coins BTC,ETH  only these of the published coins; without it those of COINS
It reads the ingester's variables (docs/configuration.md), REDIS_URL above all.
`

const WRONG_KIND =
  'Simulated prices (of a demo) and real ones never mix: set REDIS_URL to the Redis that npm start names.\n'

/** How an import runs in a process, or in a test. */
export interface ImportOptions extends Omit<Context, 'log'> {
  /** The command's arguments, without the program's name. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly version: string
  readonly stdout: Writable
  readonly stderr: Writable
  /** How it reaches the exchanges and Redis. @default by real sockets */
  readonly network?: Pick<Network, 'fetch' | 'redis'>
}

/** Runs the command until it is done or the signal aborts, and returns the exit code. */
export async function runImport(options: ImportOptions): Promise<number> {
  const { signal, stdout, stderr } = options
  try {
    await run(options)
    return 0
  } catch (thrown) {
    if (signal.aborted) {
      stdout.write('Stopped; run it again to go on from here.\n')
      return 0
    }
    stderr.write(`${thrown instanceof KimchiError ? `${thrown.code}: ` : ''}${messageOf(thrown)}\n`)
    if (thrown instanceof KimchiError && thrown.code === 'KIMCHI_ERR_PRICES_KIND') stderr.write(WRONG_KIND)
    return 1
  }
}

async function run(options: ImportOptions): Promise<void> {
  const { args, env, version, stdout, stderr, clock, random, signal, network } = options
  const { values } = parseArgs({
    args: [...args],
    options: { days: { type: 'string' }, coins: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  })
  if (values.help === true) return void stdout.write(HELP)
  const config = readConfig({ ...withSecretFile(env), COINS: values.coins ?? env.COINS })
  const { '--days': days } = readSettings({ '--days': DAYS }, { '--days': values.days })
  const redis = openRedis(config.REDIS_URL, { name: 'kimchi-backfill', random, ...network?.redis })
  const ending = new AbortController()
  const complain = ({ err, reason = err && messageOf(err) }: Record<string, unknown>, message: string) =>
    void stderr.write(`\n${message}${reason ? `: ${reason}` : ''}\n`)
  // A person watches: warnings only, beside the bar.
  const log = { debug: () => {}, info: () => {}, warn: complain, error: complain }
  const context: Context = { clock, random, signal: AbortSignal.any([signal, ending.signal]), log }
  // The requests and waits of all coins listen to it.
  setMaxListeners(0, context.signal)
  // An ingester fetches candles of its own at the same time.
  const upbitPerSecond = config.UPBIT_REQUESTS_PER_SECOND / 2
  const settings = { ...doorSettings(config, version), upbitPerSecond, fetch: network?.fetch }
  const rest = new RestClient(createDoors(settings, context))
  try {
    stdout.write(await importHistory(config, rest, redis, days, progressBar(stderr), context))
  } finally {
    ending.abort()
    await redis.close()
  }
}

/**
 * Brings the history of the configured coins back to `days` before today; the days of which single samples are
 * kept are the ingesters'. What is there already is not fetched again, so it may be stopped and started
 * at any time.
 * @returns a report of what could not be imported
 * @throws KimchiError `KIMCHI_ERR_REDIS` when Redis is not there, `KIMCHI_ERR_UNKNOWN_SYMBOL` when it would
 * have no coin, `KIMCHI_ERR_PRICES_KIND`
 */
async function importHistory(
  config: Config,
  rest: RestClient,
  redis: RedisConnection,
  days: number,
  bar: SingleBar,
  context: Context,
): Promise<string> {
  if (!(await redis.untilReady(5_000, context.signal))) {
    throw new KimchiError('KIMCHI_ERR_REDIS', `${redis.problem()}; start the service first, or set REDIS_URL`)
  }
  const reader = new SampleReader({ redis })
  const retentionDays = (await reader.readRetentionDays()) ?? config.SAMPLE_RETENTION_DAYS
  const writer = new SampleWriter({ redis, prices: config.PRICES, retentionDays, log: context.log })
  // Refuses a Redis with the other kind of prices before anything is fetched.
  await writer.verify()
  const coins = findCoins((await reader.readBoard()).coins, config, context.log)
  const onProgress = (left: number, symbol: string) => {
    if (!bar.isActive && left > 0) bar.start(left, 0, { symbol })
    bar.update(bar.getTotal() - left, { symbol })
  }
  const options = { coins, days, retentionDays, reader, writer, rest, onProgress }
  const skipped = await new HistoryImport(options, context).run().finally(() => bar.stop())
  return reportOf(skipped, unfilledDays(config, retentionDays, context.clock.now()))
}

/** Says what is missing, and what helps. */
function reportOf(skipped: readonly Skipped[], unfilled: readonly string[]): string {
  const lines = skipped.map(({ symbol, reason, days, from, to }) => {
    const count = `${days} ${days === 1 ? 'day' : 'days'}`
    return `${symbol}: ${count} not whole, ${from} to ${to}: ${reason}\n`
  })
  const again = skipped.some(({ mayImportAgain }) => mayImportAgain)
  const missing = [...(again ? ['run it again for what was left out'] : []), ...unfilled]
  const whole = missing.length === 0
  return `${lines.join('')}${whole ? 'History is complete.' : `Not complete: ${missing.join('; ')}.`}\n`
}

/** The coins to import among those that ingesters publish: callers see no other. */
function findCoins(
  known: readonly KnownCoin[],
  { COINS: wanted, ALLOW: allow, DENY: deny }: Config,
  log: Log,
): readonly Coin[] {
  const published = known.filter(({ order }) => order !== undefined)
  const coins = published.filter(({ symbol }) => wanted === 'all' || wanted.includes(symbol))
  for (const symbol of wanted === 'all' ? [] : wanted) {
    if (coins.some(coin => coin.symbol === symbol)) continue
    log.warn({ reason: `${symbol}: no ingester publishes it` }, 'coin left out')
  }
  if (coins.length === 0) {
    const message = 'COINS must name a coin that an ingester publishes, got: none; start the service first'
    throw new KimchiError('KIMCHI_ERR_UNKNOWN_SYMBOL', message)
  }
  return coins
    .filter(({ symbol }) => !deny.includes(symbol))
    .map(coin => ({ ...coin, allowed: allow.includes(coin.symbol) }))
}

/** Names the days of which samples are kept and that no ingester of this configuration fills. */
function unfilledDays({ BACKFILL_DAYS: filled }: Config, retentionDays: number, now: EpochMs): string[] {
  const today = dayStart(minuteOf(now))
  const ago = (days: number): UtcDate => dateOf(today - days * DAY_MINUTES)
  if (filled >= retentionDays) return []
  return [`no ingester with BACKFILL_DAYS=${filled} fills ${ago(retentionDays)} to ${ago(filled + 1)}`]
}

/** A bar on a terminal; a line every five seconds in a log. */
function progressBar(stream: Writable): SingleBar {
  return new SingleBar({
    stream,
    format: 'days of coins {bar} {percentage} %  {value}/{total}  {symbol}  {eta_formatted} left',
    // A step's first coins wait for candles that all coins share: the pace is that of many steps.
    etaBuffer: 200,
    formatTime: seconds => (Number.isFinite(seconds) ? `${Math.ceil(seconds / 60)} min` : '? min'),
    noTTYOutput: true,
    notTTYSchedule: 5_000,
  })
}
