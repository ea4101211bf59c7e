import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Mistakes that a later change might make in a file. */
interface Mistakes {
  /** What is to find them: files in `test` of the workspace, without `.test.ts`. */
  readonly tests: readonly string[]
  /** By the rule that is broken: what stands once in the file, and what takes its place. */
  readonly rules: Readonly<Record<string, readonly [search: string, replace: string]>>
}

/** By file: the rules of docs/architecture.md, and what once escaped all tests. */
const MISTAKES: Readonly<Record<string, Mistakes>> = {
  'packages/store/src/lua/write.lua': {
    tests: ['writer', 'write-property', 'operations', 'days-differential', 'frozen', 'reader', 'tracking'],
    rules: {
      'the first sample of a minute wins': [
        "  if has_minute(samples, minute) then return 'duplicate' end\n",
        '',
      ],
      'a write into an expired day is refused': ["  if write.now >= expiry then return 'expired' end\n", ''],
      'a frozen day accepts only later minutes': [
        "  if is_frozen(write, symbol, day, row, minute) then return 'frozen' end\n",
        '',
      ],
      'an hour key expires with its day': ["  redis.call('EXPIREAT', samples, expiry, 'NX')\n", ''],
      'a change of another day raises the revision': [
        '  if day ~= math.floor(write.now / 86400) then write.changed[symbol] = true end\n',
        '',
      ],
      'the live row only goes forward in time': ['(not shown or snapshot > shown)', 'true'],
      'a sample removes the reason of its minute': [
        "  redis.call('ZREMRANGEBYSCORE', hour_key('settled', symbol, hour_of(minute)), minute, minute)\n  redis.call('ZADD', samples",
        "  redis.call('ZADD', samples",
      ],
      '`halted` replaces any other reason': ["then return found ~= 'halted' end", 'then return false end'],
      'a write is announced': ["redis.call('PUBLISH', CHANNEL, string.format('%d', minute))", ''],
      'a coin without a sample for 60 minutes leaves the list': [
        'if snapshot and snapshot <= oldest then',
        'if false then',
      ],
      'a minute of the future empties no list': [
        'return math.min(minute, math.floor(redis_seconds() / 60) + 1)',
        'return minute',
      ],
      'a halted coin leaves the list': [
        "      removed = removed + redis.call('HDEL', LIVE, symbol)\n      redis.call('HSET', HALTED",
        "      redis.call('HSET', HALTED",
      ],
    },
  },
  'packages/core/src/latest-ticks.ts': {
    tests: ['latest-ticks', 'snapshot'],
    rules: {
      'a snapshot waits for frames that overtake each other': [
        'upbit.watermark >= start + DISORDER_MS.upbit',
        'upbit.watermark >= start',
      ],
      'a price from before an interruption is unknown': [
        'exchange.pricesFrom = interruption.pricesFrom',
        'exchange.pricesFrom = interruption.pricesFrom - 86_400_000',
      ],
    },
  },
  'packages/core/src/market-ticks.ts': {
    tests: ['latest-ticks'],
    rules: {
      'a missed frame makes the price unknown': ['Math.max(from, this.#missed.lastAt + 1)', 'from'],
      'a seed of the last seconds is not used': [
        'minuteStart(minute) - disorderMs - MAX_LAG_MS',
        'minuteStart(minute)',
      ],
    },
  },
  'packages/core/src/sample-or-gap.ts': {
    tests: ['sample-or-gap', 'snapshot'],
    rules: {
      'no sample while Upbit is down': ["  if (!upbitUp) return 'upbit-down'\n", ''],
      'a price is carried for at most 60 minutes': [
        'tradedAt <= MAX_CARRY_MS',
        'tradedAt <= 2 * MAX_CARRY_MS',
      ],
      'a rate whose market is halted is unknown': [' || !rate.tradable', ''],
    },
  },
  'packages/core/src/snapshot.ts': {
    tests: ['snapshot'],
    rules: {
      'no live samples by a wrong clock': ["known.isSkewed ? 'clock-skew'", 'known.isSkewed ? undefined'],
      'a halt is known of a minute without a trade': ['< minuteStart(minute - 1)', '< minuteStart(minute)'],
    },
  },
  'packages/core/src/arrivals.ts': {
    tests: ['arrivals', 'latest-ticks'],
    rules: {
      'a frame that was long on its way is late': [
        '(sentAt ?? eventAt) > MAX_LAG_MS',
        '(sentAt ?? eventAt) > 10 * MAX_LAG_MS',
      ],
    },
  },
  'apps/ingester/src/backfill/decide-minutes.ts': {
    tests: ['backfill/decide-minutes', 'backfill/same-decision'],
    rules: {
      'a minute that Binance has no candle of is a gap': [
        "  if (binance.lacks(minute)) return 'binance-down'\n",
        '',
      ],
    },
  },
  'apps/ingester/src/backfill/candle-block-cache.ts': {
    tests: ['backfill/decide-minutes'],
    rules: {
      'an outage is settled once it is over': [
        'Math.min(upbitUp, binanceReference.newestTrade, rate.newestTrade + CARRY_MINUTES)',
        'Math.max(upbitUp, binanceReference.newestTrade, rate.newestTrade + CARRY_MINUTES)',
      ],
    },
  },
  'apps/ingester/src/backfill/candle-block.ts': {
    tests: ['backfill/decide-minutes', 'backfill/same-decision'],
    rules: {
      'the close of a candle is carried from its start': [
        'MAX_CARRY_MS / MINUTE_MS - 1',
        'MAX_CARRY_MS / MINUTE_MS - 2',
      ],
    },
  },
  'apps/ingester/src/backfill/import-history.ts': {
    tests: ['backfill/import-history'],
    rules: {
      'an import completes a day that has a row': ['rows.get(date) === DAY_MINUTES', 'rows.has(date)'],
    },
  },
  'apps/ingester/src/backfill/run-backfill.ts': {
    tests: ['backfill/several-ingesters'],
    rules: {
      'an ingester whose clock is wrong fills nothing': [
        "gaps.some(({ reason }) => reason === 'clock-skew')",
        'gaps.length < 0',
      ],
    },
  },
  'apps/ingester/src/coins/quarantine.ts': {
    tests: ['coins/quarantine', 'coins/first-start'],
    rules: {
      'a quarantined pair is not stored': [
        'samples.filter(({ symbol }) => tracked.has(symbol))',
        "samples.filter(({ symbol }) => tracked.has(symbol) || symbol !== '')",
      ],
      'a comparison needs half of all pairs': [
        'samples.length * 2 < this.#subscribed.length',
        'samples.length < 0',
      ],
    },
  },
  'apps/ingester/src/start.ts': {
    tests: ['backfill/lost-writes', 'start'],
    rules: {
      'what candles had filled and Redis has lost is filled at once': [
        'backfill.readAgain()',
        'void backfill',
      ],
      'confirmed minutes are sent again after a reconnect': [
        "queue.sendAgain('Redis is connected again')",
        'void queue',
      ],
    },
  },
  'packages/store/src/minute-queue.ts': {
    tests: ['minute-queue'],
    rules: {
      'confirmed minutes are sent to another primary': ["this.sendAgain('another primary answers')", ''],
      'a closing queue writes what waits': [
        'const isWritten = await this.flush(limitMs)',
        'const isWritten = limitMs > 0',
      ],
    },
  },
  'packages/store/src/reader.ts': {
    tests: ['reader', 'tracking', 'writer'],
    rules: {
      'the API reads again when commands can be sent again': ['    this.#redis.onChange(onChange)\n', ''],
      'the list has the order of the coins': ['orderOf(a) - orderOf(b)', 'orderOf(b) - orderOf(a)'],
    },
  },
  'apps/api/src/documents/documents.ts': {
    tests: ['documents'],
    rules: {
      'closed days are read again after a reconnect': [
        '    this.#histories.invalidate()\n    await this.#read()',
        '    await this.#read()',
      ],
      'an emptied Redis empties no answer': [
        'if (board.coins.length === 0 &&',
        'if (board.coins.length < 0 &&',
      ],
      'a new list is compressed anew': [
        'this.#live = { ...list, compressed }',
        'this.#live = { ...list, compressed: this.#live?.compressed ?? compressed }',
      ],
    },
  },
  'apps/api/src/documents/histories.ts': {
    tests: ['documents'],
    rules: {
      'closed days are read again when their revision changed': [' && held.revision === revision', ''],
      'closed days are read again when the date changed': [
        'held?.readOn === today &&',
        'held?.readOn !== undefined &&',
      ],
    },
  },
  'apps/api/src/http/response.ts': {
    tests: ['response', 'app'],
    rules: {
      'an answer varies by its coding': ["    vary: 'Accept-Encoding',\n", ''],
      'max-age ends when the next minute is due': [
        'if (known?.maxAge === maxAge) return known',
        'if (known !== undefined) return known',
      ],
      'each coding has a tag of its own': ["return coding === 'identity'", 'return coding !== undefined'],
    },
  },
  'apps/api/src/documents/history.ts': {
    tests: ['history'],
    rules: {
      'the tag of a history is of all its rows': ["name, '\\n', newest)", "name, '\\n')"],
    },
  },
}

export type Mutation = (typeof MUTATIONS)[number]

export const MUTATIONS = Object.entries(MISTAKES).flatMap(([file, { tests, rules }]) =>
  Object.entries(rules).map(([breaks, [search, replace]]) => ({ breaks, file, search, replace, tests })),
)

/** A mutation's file in a copy of the repository, with the mistake in it. @throws where it does not apply, or changes nothing */
export function mutated(copy: string, { breaks, file, search, replace }: Mutation): string {
  const parts = readFileSync(join(copy, file), 'utf8').split(search)
  if (parts.length !== 2)
    throw new Error(`“${breaks}” applies ${parts.length - 1} times to ${file}, not once`)
  if (search === replace) throw new Error(`“${breaks}” changes nothing in ${file}`)
  return parts.join(replace)
}
