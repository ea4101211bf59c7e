import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
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
  /** Address of the API, such as `http://127.0.0.1:3000`. */
  readonly api: string
  readonly ports: { readonly apiOps: number; readonly ingesterOps: number }
  readonly redisCli: string | undefined
  readonly dataDir: string
}

/** Prints every address, then the first prices, or after a while why there are none. */
export async function showAddresses(shown: ShownAddresses): Promise<void> {
  const { mode, page, ports, redisCli, dataDir, say } = shown
  const list = `${shown.api}/api/v1/kimchi-premium`
  say(
    mode === 'demo'
      ? 'Kimchi premium on SIMULATED prices (no network needed)'
      : 'Kimchi premium on the live exchanges',
  )
  say(`  Page    ${page}`)
  say(`  API     ${list}`)
  say(`          ${list}/BTC/daily`)
  if (redisCli) say(`  Redis   ${redisCli} fcall_ro kp_status 1 '{kp}:meta'`)
  say(`  Data    ${dataDir} (logs in logs/)`)
  say(`  Health  ${readyUrl(ports.ingesterOps)} (ingester), ${readyUrl(ports.apiOps)} (API)`)
  say('  Ctrl-C ends it.')
  await showFirstPrices(shown, list)
}

/** Prices of an earlier run would hide that the ingester gets none. */
async function showFirstPrices(shown: ShownAddresses, url: string): Promise<void> {
  const { say, clock, signal } = shown
  const freshFrom = clock.now() - FRESH_BEFORE_START_MS
  const explainAt = clock.elapsed() + EXPLAIN_AFTER_MS
  let isExplained = false
  while (!signal.aborted) {
    const list = await ask<LiveList>(url)
    if (list?.data && Date.parse(`${list.updated_at}Z`) > freshFrom) {
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
  const reasons = await reasonsOf(ports)
  if (reasons.length === 0) {
    say('No prices yet; the first come a few seconds after the full minute.')
    return
  }
  say('No prices yet. Still trying; the service says:')
  for (const reason of reasons) say(`  - ${reason}`)
  if (reasons.some(reason => reason.startsWith('Redis is away')))
    say('Start the Redis that REDIS_URL names, or unset REDIS_URL: npm start brings one of its own')
  else if (mode === 'live')
    say('Without access to the exchanges, the whole service runs on a simulator: npm run demo')
}

/** Why the apps are not ready, except that the first minute is still to come; nothing without an answer. */
async function reasonsOf({ ingesterOps, apiOps }: ShownAddresses['ports']): Promise<readonly string[]> {
  const answers = await Promise.all([ingesterOps, apiOps].map(port => ask<Readiness>(readyUrl(port))))
  const reasons = answers.flatMap(answer => answer?.reasons ?? [])
  return [...new Set(reasons)].filter(reason => !/^no (minute|snapshot)/.test(reason))
}

interface Readiness {
  readonly reasons?: readonly string[]
}

/** A list, or an error, which has no rows. */
interface LiveList {
  readonly updated_at: string
  readonly count: number
  readonly data?: readonly { readonly symbol: string; readonly premium_pct: number }[]
}

/** What an app answers; undefined without an answer. An agent of its own takes no proxy of the environment. */
async function ask<T>(url: string): Promise<T | undefined> {
  try {
    const asking = get(url, { agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) })
    const [response] = (await once(asking, 'response')) as [IncomingMessage]
    // From here on the response reports errors too.
    asking.on('error', () => {})
    return (await json(response)) as T
  } catch {
    return undefined
  }
}

function readyUrl(port: number): string {
  return `http://127.0.0.1:${port}/ready`
}
