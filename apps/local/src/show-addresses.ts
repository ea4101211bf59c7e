import { type Client, createClient, utcMs } from '@kimchi/client'
import type { Milliseconds } from '@kimchi/core'
import type { Mode } from './config.ts'
import type { LocalContext } from './supervisor.ts'

const POLL_MS: Milliseconds = 500
/** An app that takes longer to answer counts as not answering. */
const TIMEOUT_MS: Milliseconds = 2_000
/** Without prices for this long, a person wants to know why. */
const EXPLAIN_AFTER_MS: Milliseconds = 10_000

/** A list that is this fresh at the start is shown too: an earlier run has only just ended. */
const FRESH_BEFORE_START_MS: Milliseconds = 120_000

export interface ShownAddresses extends LocalContext {
  readonly mode: Mode
  readonly page: string
  readonly ports: { readonly api: number; readonly apiOps: number; readonly ingesterOps: number }
  readonly redisCli: string | undefined
  readonly dataDir: string
  /** Which default ports were taken. */
  readonly note: string | undefined
}

/** Prints every address, then the first prices, or after a while why there are none. */
export async function showAddresses(shown: ShownAddresses): Promise<void> {
  const { mode, page, ports, redisCli, dataDir, note, say } = shown
  const api = `http://127.0.0.1:${ports.api}/api/v1`
  say(
    mode === 'demo'
      ? 'Kimchi premium on SIMULATED prices (no network needed)'
      : 'Kimchi premium on the live exchanges',
  )
  say(`  Page    ${page}`)
  say(`  API     ${api}/kimchi-premium`)
  say(`          ${api}/kimchi-premium/BTC/daily`)
  if (redisCli) say(`  Redis   ${redisCli} fcall_ro kp_status 1 '{kp}:meta'`)
  say(`  Data    ${dataDir} (logs in logs/)`)
  say(`  Health  ${readyUrl(ports.ingesterOps)} (ingester), ${readyUrl(ports.apiOps)} (API)`)
  if (note) say(`  ${note}`)
  say('  Ctrl-C ends it.')
  await showFirstPrices(shown, createClient({ baseUrl: api, timeoutMs: TIMEOUT_MS }))
}

/** Prices of an earlier run would hide that the ingester gets none. */
async function showFirstPrices(shown: ShownAddresses, client: Client): Promise<void> {
  const { say, clock, signal } = shown
  const freshFrom = clock.now() - FRESH_BEFORE_START_MS
  const explainAt = clock.elapsed() + EXPLAIN_AFTER_MS
  let isExplained = false
  while (!signal.aborted) {
    const list = await client.live().catch(() => undefined)
    if (list && utcMs(list.updated_at) > freshFrom) {
      const [first] = list.data
      const example = first ? `, ${first.symbol} ${first.premium_pct} %` : ''
      say(`First prices, ${list.updated_at} UTC: ${list.count} coins${example}`)
      return
    }
    if (!isExplained && clock.elapsed() > explainAt) {
      isExplained = true
      await explain(shown)
    }
    await clock.wait(POLL_MS, signal)
  }
}

async function explain({ mode, ports, say }: ShownAddresses): Promise<void> {
  const reasons = await reasonsOf(ports.ingesterOps)
  if (reasons.length === 0) {
    say('No prices yet; the first come a few seconds after the full minute.')
    return
  }
  say('No prices yet. Still trying; the ingester says:')
  for (const reason of reasons) say(`  - ${reason}`)
  if (mode === 'live')
    say('Without access to the exchanges, the whole service runs on a simulator: npm run demo')
}

/** Why an app is not ready, except that its first minute is still to come; nothing without an answer. */
async function reasonsOf(port: number): Promise<readonly string[]> {
  try {
    const response = await fetch(readyUrl(port), { signal: AbortSignal.timeout(TIMEOUT_MS) })
    const { reasons } = (await response.json()) as { reasons: readonly string[] }
    return reasons.filter(reason => !reason.startsWith('no minute'))
  } catch {
    return []
  }
}

function readyUrl(port: number): string {
  return `http://127.0.0.1:${port}/ready`
}
