export { DEFAULT_COINS, syntheticCoins } from './coins.ts'
export type { SentFrame } from './connection.ts'
export { SimulatorError } from './errors.ts'
export type { ActiveFault, Fault, FaultBoard, FaultKind, GarbageShape } from './faults.ts'
export type { Prices } from './prices.ts'
export { startSimulator } from './server.ts'
export type { Simulator, SimulatorOptions } from './simulator.ts'
export type {
  BinanceListing,
  Candle,
  Exchange,
  SimulatedCoin,
  SimulatorClock,
  Trade,
  UpbitListing,
} from './types.ts'
