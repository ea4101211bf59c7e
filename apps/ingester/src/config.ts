import {
  choiceSetting,
  integerSetting,
  readSettings,
  type Setting,
  type SettingValues,
  urlListSetting,
} from '@kimchi/core'
import { DEFAULT_BASES, DENIALS, userAgentOf, type WantedCoins } from '@kimchi/feeds'
import { opsSettings } from '@kimchi/runtime'
import { redisUrlSetting } from '@kimchi/store'

/** Ten large coins that are the same on both exchanges. */
const DEFAULT_COINS = 'BTC,ETH,XRP,SOL,DOGE,ADA,TRX,LINK,AVAX,DOT'

/** Every variable that the ingester reads; `npm run docs` makes the table of docs/configuration.md from it. */
export const settings = {
  REDIS_URL: redisUrlSetting,
  COINS: {
    description: 'tracked coins in the order of the live list, or `all`',
    default: DEFAULT_COINS,
    allowed: '`all` or symbols of letters and digits separated by commas',
    parse: parseCoins,
  } satisfies Setting<WantedCoins>,
  ALLOW: symbolsSetting('symbols that are published whatever their premium is'),
  DENY: symbolsSetting('symbols that are never tracked'),
  PRICES: choiceSetting('`simulated` when the exchanges are a simulator', 'live', ['live', 'simulated']),
  UPBIT_WS_URL: urlListSetting('Upbit WebSocket, the whole URL', DEFAULT_BASES.UPBIT_WS_URL),
  UPBIT_REST_URL: urlListSetting('Upbit REST, the part before `/v1`', DEFAULT_BASES.UPBIT_REST_URL),
  BINANCE_WS_URL: urlListSetting(
    'Binance WebSocket, the part before `/stream`',
    DEFAULT_BASES.BINANCE_WS_URL,
  ),
  BINANCE_REST_URL: urlListSetting('Binance REST, the part before `/api/v3`', DEFAULT_BASES.BINANCE_REST_URL),
  PROJECT_URL: {
    description: 'address of your project, for the `User-Agent` of requests to the exchanges',
    default: '',
    allowed: 'empty, or a URL starting with https:// or http://',
    parse: text => (text === '' || /^https?:\/\/\S+$/.test(text) ? text : undefined),
  } satisfies Setting<string>,
  BACKFILL_DAYS: {
    ...integerSetting('whole UTC days before today that are filled from candles; 0 turns backfill off', 0, {
      min: 0,
      max: 400,
    }),
    default: undefined,
    allowed: 'an integer from 0 to 400; unset: `SAMPLE_RETENTION_DAYS`',
  },
  UPBIT_REQUESTS_PER_SECOND: integerSetting(
    'REST requests a second to Upbit, of the 10 that it allows an address, and 2.5 times as many to Binance; Compose and Kubernetes set 4 for each of two ingesters on one',
    8,
    { min: 1, max: 10 },
  ),
  SAMPLE_RETENTION_DAYS: integerSetting('whole UTC days that one-minute samples are kept', 8, {
    min: 1,
    max: 400,
  }),
  ...opsSettings(9465),
}

export type Config = SettingValues<typeof settings>

/**
 * Reads the ingester's configuration.
 * @throws KimchiError `KIMCHI_ERR_CONFIG` naming every problem
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const values = readSettings(settings, env, given => [...daysProblems(given), ...symbolsProblems(given)])
  return { ...values, BACKFILL_DAYS: values.BACKFILL_DAYS ?? values.SAMPLE_RETENTION_DAYS }
}

/** Where the exchanges answer, how often Upbit may be asked, and who asks. @param version of the app */
export function doorSettings(config: Config, version: string) {
  return {
    userAgent: userAgentOf(version, config.PROJECT_URL),
    streams: { upbit: config.UPBIT_WS_URL, binance: config.BINANCE_WS_URL },
    rest: { upbit: config.UPBIT_REST_URL, binance: config.BINANCE_REST_URL },
    upbitPerSecond: config.UPBIT_REQUESTS_PER_SECOND,
  }
}

function daysProblems({ BACKFILL_DAYS: backfill, SAMPLE_RETENTION_DAYS: retention }: Partial<Config>) {
  return backfill !== undefined && retention !== undefined && backfill > retention
    ? [`BACKFILL_DAYS must be at most SAMPLE_RETENTION_DAYS (${retention}), got: "${backfill}"`]
    : []
}

/** A symbol can't be both tracked and denied, and no setting allows a pair of two different coins. */
function symbolsProblems({ COINS: coins = 'all', ALLOW: allow = [], DENY: deny = [] }: Partial<Config>) {
  const unwanted = new Set(deny)
  const named = coins === 'all' ? [] : coins
  return [
    ...named.filter(symbol => unwanted.has(symbol)).map(symbol => `COINS and DENY both name ${symbol}`),
    ...allow.filter(symbol => unwanted.has(symbol)).map(symbol => `ALLOW and DENY both name ${symbol}`),
    ...allow.flatMap(symbol => {
      return Object.hasOwn(DENIALS, symbol) ? `ALLOW cannot name ${symbol}: ${DENIALS[symbol]}` : []
    }),
  ]
}

function symbolsSetting(description: string): Setting<readonly string[]> {
  const allowed = 'symbols of letters and digits separated by commas'
  return { description, default: '', allowed, parse: parseSymbols }
}

function parseCoins(text: string): WantedCoins | undefined {
  if (text.toLowerCase() === 'all') return 'all'
  const symbols = parseSymbols(text)
  return symbols?.length === 0 ? undefined : symbols
}

function parseSymbols(text: string): readonly string[] | undefined {
  if (text === '') return []
  const symbols = text.split(',').map(symbol => symbol.trim().toUpperCase())
  return symbols.every(symbol => /^[A-Z\d]{1,20}$/.test(symbol)) ? [...new Set(symbols)] : undefined
}
