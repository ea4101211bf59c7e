import type { SimulatedCoin } from './types.ts'

/** Large, normal and quiet coins, and tickers that mislead. @see docs/exchanges.md#symbol-mapping */
export const DEFAULT_COINS: readonly SimulatedCoin[] = [
  both('BTC', '비트코인', 'Bitcoin', 86_000, 60, 100),
  both('ETH', '이더리움', 'Ethereum', 2_900, 40, 50),
  both('XRP', '엑스알피(리플)', 'XRP', 2.1, 50, 40),
  both('SOL', '솔라나', 'Solana', 132, 30, 40),
  both('DOGE', '도지코인', 'Dogecoin', 0.148, 20, 30),
  both('ADA', '에이다', 'Cardano', 0.42, 12, 20),
  both('TRX', '트론', 'TRON', 0.276, 8, 20),
  both('LINK', '체인링크', 'Chainlink', 12.6, 8, 20),
  both('AVAX', '아발란체', 'Avalanche', 13.4, 6, 20),
  both('DOT', '폴카닷', 'Polkadot', 2.3, 6, 15),
  { id: 'USDT', price: 1, upbit: upbit('USDT', '테더', 'Tether', 30) },
  both('USDC', '유에스디코인', 'USDC', 1, 3, 10),
  both('SUI', '수이', 'Sui', 1.52, 8, 15),
  both('SHIB', '시바이누', 'Shiba Inu', 0.0000085, 5, 10),
  // Quiet on Upbit: minutes to an hour pass between two trades.
  both('STORJ', '스토리지', 'Storj', 0.151, 0.1, 2),
  both('KNC', '카이버네트워크', 'Kyber Network', 0.252, 0.05, 1),
  both('IQ', '아이큐', 'IQ', 0.0021, 0.025, 0.5),
  // The same coin under two tickers.
  {
    id: 'bittorrent',
    price: 0.00000042,
    upbit: upbit('BTT', '비트토렌트', 'BitTorrent', 1),
    binance: on('BTTC', 4),
  },
  { id: 'meteora', price: 0.29, upbit: upbit('MET2', '메테오라', 'Meteora', 2), binance: on('MET', 4) },
  { id: 'gensyn', price: 0.06, upbit: upbit('AI', '젠신', 'Gensyn', 2), binance: on('AIGENSYN', 4) },
  // The same ticker for different coins, or look-alikes. The false AI shows a steady premium of about 20 %.
  { id: 'sleepless-ai', price: 0.05, follows: 'gensyn', binance: on('AI', 4) },
  { id: 'pharos', price: 0.35, upbit: upbit('PROS', '파로스', 'Pharos', 2) },
  { id: 'prosper', price: 0.034, binance: { ...on('PROS', 1), status: 'BREAK' } },
  { id: '1000-sats', price: 0.0000162, binance: on('1000SATS', 4) },
]

/** `count` made-up coins listed on both exchanges, after BTC and USDT, for load tests. */
export function syntheticCoins(count: number, tradesPerMinute = 10): SimulatedCoin[] {
  const large = DEFAULT_COINS.filter(coin => coin.id === 'BTC' || coin.id === 'USDT')
  const made = Array.from({ length: count }, (_, i) => {
    const asset = `SYN${String(i).padStart(3, '0')}`
    const price = 10 ** ((i % 8) - 4) * (1 + (i % 7))
    return both(asset, `합성 ${i}`, `Synthetic ${i}`, price, tradesPerMinute, tradesPerMinute)
  })
  return [...large, ...made]
}

function both(
  asset: string,
  koreanName: string,
  englishName: string,
  price: number,
  upbitTrades: number,
  binanceTrades: number,
): SimulatedCoin {
  const listings = {
    upbit: upbit(asset, koreanName, englishName, upbitTrades),
    binance: on(asset, binanceTrades),
  }
  return { id: asset, price, ...listings }
}

function upbit(asset: string, koreanName: string, englishName: string, tradesPerMinute: number) {
  return { asset, koreanName, englishName, tradesPerMinute }
}

function on(asset: string, tradesPerMinute: number) {
  return { asset, tradesPerMinute }
}
