// Every exception to "the same ticker on both exchanges is the same coin", each with its reason. Keys
// are Upbit tickers. See docs/exchanges.md#symbol-mapping.

/**
 * The same coin under another ticker: Upbit ticker → Binance ticker. The Binance ticker then belongs to it
 * alone.
 */
export const ALIASES: Readonly<Record<string, string>> = {
  // BitTorrent was redenominated 1:1000 in 2022, and Upbit kept the ticker.
  BTT: 'BTTC',
  // For Beam, Binance adds an X.
  BEAM: 'BEAMX',
  // Meteora found MET taken on Upbit.
  MET2: 'MET',
  // Gensyn: AI on Binance is Sleepless AI, a false premium of about +20 %.
  AI: 'AIGENSYN',
}

/** Different coins under the same ticker: refused even when wanted by name. */
export const DENIALS: Readonly<Record<string, string>> = {
  USDT: 'it is the rate itself, not a coin with a premium',
  PROS: 'Pharos on Upbit, Prosper on Binance (halted, price ten times off)',
  DATA: 'Data Network on Upbit, Streamr on Binance',
  LIT: 'Lighter on Upbit, Litentry (now HEI) on Binance',
  META: 'Metadium on Upbit, other projects elsewhere (METAB is a tokenised share)',
  SONIC: 'Sonic SVM on Upbit; S on Binance is Sonic, the former FTM',
  EDGE: 'Definitive on Upbit, other projects use EDGE elsewhere; not checked yet',
  CAT: "a look-alike: 1000CAT on Binance is Simon's Cat; not checked, and not on Upbit in KRW so far",
  TON: 'Tokamak Network on Upbit, Toncoin (now GRAM) on Binance',
}

/** The same coin on both exchanges, but no use as a premium: not in `all`, tracked when wanted by name. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  USDC: 'stablecoin',
  USD1: 'stablecoin',
  USDE: 'stablecoin',
  USDS: 'stablecoin',
  USDG: 'stablecoin',
  PYUSD: 'stablecoin',
  RLUSD: 'stablecoin',
  EURC: 'stablecoin (euro)',
  JPYC: 'stablecoin (yen)',
  XAUT: 'gold',
}
