import { fraction, keyOf } from './hash.ts'
import type { PriceWalks } from './price-walk.ts'
import { krwTickSize, roundToStep, usdtTickSize } from './tick-size.ts'
import type { EpochMs, Listing, Trade } from './types.ts'

/** All trades of one market, past and future, without state. */
export type TradeTape = ReturnType<typeof createTape>

/** Share of slots that hold a trade. */
const FILLED = 0.8

/** The mean volume of a trade, in units of the base coin. */
export function meanVolume({ coin, multiplier }: Listing): number {
  return 220 / (coin.price * multiplier)
}

/**
 * The tape of a listing. Time is cut into slots, a slot holds one trade or none, and everything about that
 * trade comes from hashing (seed, market, slot), so any moment can be asked for in any order.
 */
export function createTape(seed: string, listing: Listing, walks: PriceWalks) {
  const key = keyOf(`${seed}/${listing.exchange}/${listing.market}/${listing.coin.id}`)
  const slotMs = Math.max(1, Math.round((60_000 * FILLED) / listing.tradesPerMinute))
  const price = pricing(listing, walks, key)
  const typicalVolume = 400 / (listing.coin.price * listing.multiplier)

  const timeIn = (slot: number): EpochMs => {
    if (fraction(key, slot) >= FILLED) return -1
    return slot * slotMs + Math.floor(fraction(key ^ 0x5bd1e995, slot) * slotMs)
  }
  const tradeAt = (slot: number, at: EpochMs): Trade => {
    const roll = fraction(key ^ 0x1b873593, slot)
    const ofTypical = 0.05 + 2 * (roll * roll * roll)
    const volume = Math.max(1, Math.round(typicalVolume * 1e8 * ofTypical)) / 1e8
    return { at, price: price(at, slot), volume }
  }
  return {
    /** Trades with from ≤ at < to, in time order. */
    between(from: EpochMs, to: EpochMs): Trade[] {
      const trades: Trade[] = []
      for (let slot = Math.floor(from / slotMs); slot * slotMs < to; slot++) {
        const at = timeIn(slot)
        if (at >= from && at < to) trades.push(tradeAt(slot, at))
      }
      return trades
    },
    /** The newest trade with at < before. */
    lastBefore(before: EpochMs): Trade | undefined {
      for (let slot = Math.floor(before / slotMs); slot >= 0; slot--) {
        const at = timeIn(slot)
        if (at >= 0 && at < before) return tradeAt(slot, at)
      }
      return undefined
    },
  }
}

function pricing(listing: Listing, walks: PriceWalks, key: number): (at: EpochMs, slot: number) => number {
  const { coin, multiplier } = listing
  const movement = walks.coin(coin.follows ?? coin.id)
  const premium = walks.premium(coin.id)
  // Buyers and sellers meet a little above and below the middle.
  const bounce = (slot: number): number => 1 + (fraction(key ^ 0x2545f491, slot) - 0.5) * 0.0003
  const calm = coin.stable ? 0.003 : 1
  const inUsdt = (at: EpochMs): number => coin.price * multiplier * Math.exp(movement(at) * calm)
  if (listing.exchange === 'binance') {
    const step = usdtTickSize(coin.price * multiplier)
    return (at, slot) => roundToStep(inUsdt(at) * bounce(slot), step)
  }
  return (at, slot) => {
    const inKrw = walks.usdtKrw(at) * bounce(slot)
    // The rate itself is the price of USDT: it has no premium over itself.
    const krw = listing.asset === 'USDT' ? inKrw : inKrw * inUsdt(at) * (1 + premium(at))
    return roundToStep(krw, krwTickSize(krw))
  }
}
