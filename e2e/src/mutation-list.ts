/** A mistake that a later change might make: one replacement in the sources, and the tests that are to find it. */
export interface Mutation {
  /** The rule that it breaks. */
  readonly breaks: string
  /** From the repository's folder. */
  readonly file: string
  /** Stands once in the file. */
  readonly search: string
  readonly replace: string
  /** The workspace of the tests, and their files in its folder `test`, without `.test.ts`. */
  readonly tests: readonly [workspace: string, ...files: readonly string[]]
}

const LUA = 'packages/store/src/lua/write.lua'
const TICKS = 'packages/core/src/market-ticks.ts'
const LATEST = 'packages/core/src/latest-ticks.ts'
const SNAPSHOT = 'packages/core/src/snapshot.ts'
const DECISION = 'packages/core/src/sample-or-gap.ts'
const QUEUE = 'packages/store/src/minute-queue.ts'
const CANDLES = 'apps/ingester/src/backfill/decide-minutes.ts'
const START = 'apps/ingester/src/start.ts'
const HISTORIES = 'apps/api/src/documents/histories.ts'
const DOCUMENTS = 'apps/api/src/documents/documents.ts'
const RESPONSE = 'apps/api/src/http/response.ts'

/** By the rules of docs/architecture.md, and by what once escaped all tests. */
export const MUTATIONS: readonly Mutation[] = [
  {
    breaks: 'the first sample of a minute wins',
    file: LUA,
    search: "  if has_minute(samples, minute) then return 'duplicate' end\n",
    replace: '',
    tests: ['packages/store', 'writer', 'write-property'],
  },
  {
    breaks: 'a write into an expired day is refused',
    file: LUA,
    search: "  if write.now >= expiry then return 'expired' end\n",
    replace: '',
    tests: ['packages/store', 'writer', 'operations'],
  },
  {
    breaks: 'a frozen day accepts only later minutes',
    file: LUA,
    search: "  if is_frozen(write, symbol, day, row, minute) then return 'frozen' end\n",
    replace: '',
    tests: ['packages/store', 'days-differential', 'frozen'],
  },
  {
    breaks: 'an hour key expires with its day',
    file: LUA,
    search: "  redis.call('EXPIREAT', samples, expiry, 'NX')\n",
    replace: '',
    tests: ['packages/store', 'writer', 'operations'],
  },
  {
    breaks: 'a change of another day raises the revision',
    file: LUA,
    search: '  if day ~= math.floor(write.now / 86400) then write.changed[symbol] = true end\n',
    replace: '',
    tests: ['packages/store', 'writer', 'operations'],
  },
  {
    breaks: 'the live row only goes forward in time',
    file: LUA,
    search: '(not shown or snapshot > shown)',
    replace: 'true',
    tests: ['packages/store', 'writer', 'write-property'],
  },
  {
    breaks: 'a sample removes the reason of its minute',
    file: LUA,
    search:
      "  redis.call('ZREMRANGEBYSCORE', hour_key('settled', symbol, hour_of(minute)), minute, minute)\n  redis.call('ZADD', samples",
    replace: "  redis.call('ZADD', samples",
    tests: ['packages/store', 'write-property', 'writer'],
  },
  {
    breaks: '`halted` replaces any other reason',
    file: LUA,
    search: "then return found ~= 'halted' end",
    replace: 'then return false end',
    tests: ['packages/store', 'write-property'],
  },
  {
    breaks: 'a write is announced',
    file: LUA,
    search: "redis.call('PUBLISH', CHANNEL, string.format('%d', minute))",
    replace: '',
    tests: ['packages/store', 'reader', 'writer'],
  },
  {
    breaks: 'a coin without a sample for 60 minutes leaves the list',
    file: LUA,
    search: 'if snapshot and snapshot <= oldest then',
    replace: 'if false then',
    tests: ['packages/store', 'writer', 'tracking'],
  },
  {
    breaks: 'a minute of the future empties no list',
    file: LUA,
    search: 'return math.min(minute, math.floor(redis_seconds() / 60) + 1)',
    replace: 'return minute',
    tests: ['packages/store', 'writer', 'tracking'],
  },
  {
    breaks: 'a halted coin leaves the list',
    file: LUA,
    search: "      removed = removed + redis.call('HDEL', LIVE, symbol)\n      redis.call('HSET', HALTED",
    replace: "      redis.call('HSET', HALTED",
    tests: ['packages/store', 'tracking', 'writer'],
  },
  {
    breaks: 'a snapshot waits for frames that overtake each other',
    file: LATEST,
    search: 'watermark >= minuteStart(minute) + DISORDER_MS[exchange]',
    replace: 'watermark >= minuteStart(minute)',
    tests: ['packages/core', 'latest-ticks', 'snapshot'],
  },
  {
    breaks: 'a price from before an interruption is unknown',
    file: LATEST,
    search: '.pricesFrom = pricesFrom',
    replace: '.pricesFrom = pricesFrom - 86_400_000',
    tests: ['packages/core', 'latest-ticks', 'snapshot'],
  },
  {
    breaks: 'a missed frame makes the price unknown',
    file: TICKS,
    search: 'Math.max(from, this.#missed.lastAt + 1)',
    replace: 'from',
    tests: ['packages/core', 'latest-ticks'],
  },
  {
    breaks: 'a seed of the last seconds is not used',
    file: TICKS,
    search: 'minuteStart(minute) - disorderMs - MAX_LAG_MS',
    replace: 'minuteStart(minute)',
    tests: ['packages/core', 'latest-ticks'],
  },
  {
    breaks: 'no sample while Upbit is down',
    file: DECISION,
    search: "  if (!upbitUp) return 'upbit-down'\n",
    replace: '',
    tests: ['packages/core', 'sample-or-gap', 'snapshot'],
  },
  {
    breaks: 'a price is carried for at most 60 minutes',
    file: DECISION,
    search: 'tradedAt <= MAX_CARRY_MS',
    replace: 'tradedAt <= 2 * MAX_CARRY_MS',
    tests: ['packages/core', 'sample-or-gap'],
  },
  {
    breaks: 'a rate whose market is halted is unknown',
    file: DECISION,
    search: ' || !rate.tradable',
    replace: '',
    tests: ['packages/core', 'sample-or-gap', 'snapshot'],
  },
  {
    breaks: 'no live samples by a wrong clock',
    file: SNAPSHOT,
    search: "return 'clock-skew'",
    replace: 'return undefined',
    tests: ['packages/core', 'snapshot'],
  },
  {
    breaks: 'a halt is known of a minute without a trade',
    file: SNAPSHOT,
    search: '< minuteStart(minute - 1)',
    replace: '< minuteStart(minute)',
    tests: ['packages/core', 'snapshot'],
  },
  {
    breaks: 'a frame that was long on its way is late',
    file: 'packages/core/src/skew.ts',
    search: 'sentAt > MAX_LAG_MS +',
    replace: 'sentAt > 10 * MAX_LAG_MS +',
    tests: ['packages/core', 'skew', 'latest-ticks'],
  },
  {
    breaks: 'a minute that Binance has no candle of is a gap',
    file: CANDLES,
    search: "  if (binance.lacks(minute)) return 'binance-down'\n",
    replace: '',
    tests: ['apps/ingester', 'backfill/decide-minutes', 'backfill/same-decision'],
  },
  {
    breaks: 'the close of a candle is carried from its start',
    file: 'apps/ingester/src/backfill/candle-block.ts',
    search: 'MAX_CARRY_MS / MINUTE_MS - 1',
    replace: 'MAX_CARRY_MS / MINUTE_MS - 2',
    tests: ['apps/ingester', 'backfill/decide-minutes', 'backfill/same-decision'],
  },
  {
    breaks: 'an outage is settled once it is over',
    file: CANDLES,
    search: 'Math.min(upbitUp, binanceReference.newestTrade, rate.newestTrade + CARRY_MINUTES)',
    replace: 'Math.max(upbitUp, binanceReference.newestTrade, rate.newestTrade + CARRY_MINUTES)',
    tests: ['apps/ingester', 'backfill/decide-minutes'],
  },
  {
    breaks: 'an import completes a day that has a row',
    file: 'apps/ingester/src/backfill/import-history.ts',
    search: 'rows.get(date) === DAY_MINUTES',
    replace: 'rows.has(date)',
    tests: ['apps/ingester', 'backfill/import-history'],
  },
  {
    breaks: 'an ingester whose clock is wrong fills nothing',
    file: 'apps/ingester/src/backfill/run-backfill.ts',
    search: "gaps.some(({ reason }) => reason === 'clock-skew')",
    replace: 'gaps.length < 0',
    tests: ['apps/ingester', 'backfill/several-ingesters'],
  },
  {
    breaks: 'a quarantined pair is not stored',
    file: 'apps/ingester/src/coins/quarantine.ts',
    search: 'samples.filter(({ symbol }) => tracked.has(symbol))',
    replace: "samples.filter(({ symbol }) => tracked.has(symbol) || symbol !== '')",
    tests: ['apps/ingester', 'coins/quarantine'],
  },
  {
    breaks: 'a comparison needs half of all pairs',
    file: 'apps/ingester/src/coins/quarantine.ts',
    search: 'samples.length * 2 < this.#subscribed.length',
    replace: 'samples.length < 0',
    tests: ['apps/ingester', 'coins/quarantine', 'coins/first-start'],
  },
  {
    breaks: 'what candles had filled and Redis has lost is filled at once',
    file: START,
    search: 'if (problem === undefined) backfill.noteReconnect()',
    replace: 'if (problem === undefined) void backfill',
    tests: ['apps/ingester', 'backfill/lost-writes'],
  },
  {
    breaks: 'confirmed minutes are sent again after a reconnect',
    file: START,
    search: "queue.sendAgain('Redis is connected again')",
    replace: 'void queue',
    tests: ['apps/ingester', 'backfill/lost-writes', 'start'],
  },
  {
    breaks: 'confirmed minutes are sent to another primary',
    file: QUEUE,
    search: "this.sendAgain('another primary answers')",
    replace: '',
    tests: ['packages/store', 'minute-queue'],
  },
  {
    breaks: 'a closing queue writes what waits',
    file: QUEUE,
    search: 'const isWritten = await this.flush(limitMs)',
    replace: 'const isWritten = limitMs > 0',
    tests: ['packages/store', 'minute-queue'],
  },
  {
    breaks: 'the API reads again when commands can be sent again',
    file: 'packages/store/src/reader.ts',
    search: '    this.#redis.onChange(onChange)\n',
    replace: '',
    tests: ['packages/store', 'reader'],
  },
  {
    breaks: 'the list has the order of the coins',
    file: 'packages/store/src/reader.ts',
    search: 'orderOf(a) - orderOf(b)',
    replace: 'orderOf(b) - orderOf(a)',
    tests: ['packages/store', 'reader', 'tracking', 'writer'],
  },
  {
    breaks: 'closed days are read again after a reconnect',
    file: DOCUMENTS,
    search: '    this.#histories.invalidate()\n    await this.#read()',
    replace: '    await this.#read()',
    tests: ['apps/api', 'documents'],
  },
  {
    breaks: 'an emptied Redis empties no answer',
    file: DOCUMENTS,
    search: 'if (board.coins.length === 0 &&',
    replace: 'if (board.coins.length < 0 &&',
    tests: ['apps/api', 'documents'],
  },
  {
    breaks: 'closed days are read again when their revision changed',
    file: HISTORIES,
    search: ' && held.revision === revision',
    replace: '',
    tests: ['apps/api', 'documents'],
  },
  {
    breaks: 'closed days are read again when the date changed',
    file: HISTORIES,
    search: 'held?.readOn === today &&',
    replace: 'held?.readOn !== undefined &&',
    tests: ['apps/api', 'documents'],
  },
  {
    breaks: 'an answer varies by its coding',
    file: RESPONSE,
    search: "    vary: 'Accept-Encoding',\n",
    replace: '',
    tests: ['apps/api', 'response', 'app'],
  },
  {
    breaks: 'max-age ends when the next minute is due',
    file: RESPONSE,
    search: 'if (known?.maxAge === maxAge) return known',
    replace: 'if (known !== undefined) return known',
    tests: ['apps/api', 'response'],
  },
  {
    breaks: 'each coding has a tag of its own',
    file: RESPONSE,
    search: "return coding === 'identity'",
    replace: 'return coding !== undefined',
    tests: ['apps/api', 'response'],
  },
  {
    breaks: 'a new list is compressed anew',
    file: DOCUMENTS,
    search: 'this.#live = { ...list, compressed }',
    replace: 'this.#live = { ...list, compressed: this.#live?.compressed ?? compressed }',
    tests: ['apps/api', 'documents'],
  },
  {
    breaks: 'the tag of a history is of all its rows',
    file: 'apps/api/src/documents/history.ts',
    search: "name, '\\n', newest)",
    replace: "name, '\\n')",
    tests: ['apps/api', 'history'],
  },
]
