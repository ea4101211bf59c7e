import { fraction, keyOf } from './hash.ts'
import { byMinutes, type PriceWalks, type Walk } from './price-walk.ts'
import { krwTickSize, roundToStep, usdtTickSize } from './tick-size.ts'
import type { EpochMs, Listing, Trade } from './types.ts'

/** All trades of one market, past and future, without state. */
export type TradeTape = ReturnType<typeof createTape>

const MINUTE = 60_000

/** Share of slots that hold a trade. */
const FILLED = 0.8

/** The mean volume of a trade, in units of the market. */
export function meanVolume({ coin }: Listing): number {
  return 220 / coin.price
}

/**
 * The tape of a listing. Time is cut into slots, a slot holds one trade or none, and everything about that
 * trade comes from hashing (seed, market, slot), so any moment can be asked for in any order.
 */
export function createTape(seed: string, listing: Listing, walks: PriceWalks) {
  const key = keyOf(`${seed}/${listing.exchange}/${listing.market}/${listing.coin.id}`)
  const slotMs = Math.max(1, Math.round((MINUTE * FILLED) / listing.tradesPerMinute))
  const middle = byMinutes(middlePrice(listing, walks))
  const stepOf = priceStep(listing)
  const smallest = meanVolume(listing) / 11

  const timeIn = (slot: number): EpochMs | undefined => {
    const roll = fraction(key, slot) / FILLED
    return roll < 1 ? slot * slotMs + Math.floor(roll * slotMs) : undefined
  }
  const tradeAt = (slot: number, at: EpochMs, factorAt: Walk): Trade => {
    // A trade's price lies a little above or below the middle.
    const price = factorAt(at) * middle(at) * (1 + (fraction(key ^ 0x2545f491, slot) - 0.5) * 0.0003)
    const roll = fraction(key ^ 0x1b873593, slot)
    const volume = smallest * (1 + 40 * roll * roll * roll)
    return { at, price: roundToStep(price, stepOf(price)), volume: roundToStep(volume, 1e-8) }
  }
  const between = (from: EpochMs, to: EpochMs, factorAt: Walk): Trade[] => {
    const trades: Trade[] = []
    for (let slot = Math.floor(from / slotMs); slot * slotMs < to; slot++) {
      const at = timeIn(slot)
      if (at !== undefined && at >= from && at < to) trades.push(tradeAt(slot, at, factorAt))
    }
    return trades
  }
  return {
    /** Trades with from ≤ at < to, in time order. @param factorAt what multiplies their prices */
    between,
    /** The newest trade with at < before. */
    lastBefore(before: EpochMs, factorAt: Walk): Trade | undefined {
      for (let slot = Math.floor(before / slotMs); slot >= 0; slot--) {
        const at = timeIn(slot)
        if (at !== undefined && at < before) return tradeAt(slot, at, factorAt)
      }
      return undefined
    },
  }
}

/** The price around which a market trades, unrounded. */
function middlePrice({ exchange, asset, coin }: Listing, walks: PriceWalks): Walk {
  const movement = walks.coin(coin.follows ?? coin.id)
  const premium = walks.premium(coin.id)
  const inUsdt: Walk = at => coin.price * Math.exp(movement(at))
  if (exchange === 'binance') return inUsdt
  // The rate itself is the price of USDT: it has no premium over itself.
  if (asset === 'USDT') return walks.usdtKrw
  return at => walks.usdtKrw(at) * inUsdt(at) * (1 + premium(at))
}

/** Upbit's step depends on the price, Binance's is the market's own. */
function priceStep({ exchange, coin }: Listing): (price: number) => number {
  const usdtStep = usdtTickSize(coin.price)
  return exchange === 'binance' ? () => usdtStep : krwTickSize
}
