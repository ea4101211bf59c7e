import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net'
import type { Milliseconds } from '@kimchi/core'

/** A handshake with Seoul takes 250 to 300 ms from Europe, and a second longer where a packet is lost. */
const ATTEMPT_MS: Milliseconds = 3_000

/**
 * Gives each address of a name seconds for its TCP handshake, in this process. Node ends each attempt but the last
 * after 250 ms: an exchange on another continent would never be reached where its last address can't be.
 * @see docs/exchanges.md#where-it-runs
 */
export function waitForFarAddresses(): void {
  setDefaultAutoSelectFamilyAttemptTimeout(ATTEMPT_MS)
}
