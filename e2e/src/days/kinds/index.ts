import { EXCHANGE_KINDS } from './exchange.ts'
import { HOST_KINDS } from './host.ts'
import type { Kinds } from './kind.ts'
import { NETWORK_KINDS } from './network.ts'
import { REDIS_KINDS } from './redis.ts'

/** All kinds of faults, in the order in which a day draws them. */
export const KINDS: Kinds = { ...EXCHANGE_KINDS, ...NETWORK_KINDS, ...HOST_KINDS, ...REDIS_KINDS }
