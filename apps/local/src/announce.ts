import { setTimeout as delay } from 'node:timers/promises'
import type { Milliseconds } from '@kimchi/core'
import type { Mode } from './config.ts'

const POLL_MS: Milliseconds = 500
/** Without prices for this long, a person wants to know why. */
export const EXPLAIN_AFTER_MS: Milliseconds = 10_000

/** A list may be two minutes old at a start: a minute that an earlier run wrote just before. */
const FRESH_BEFORE_START_MS: Milliseconds = 120_000

/** What is announced, and to whom. */
export interface Announcement {
  readonly mode: Mode
  /** Address of the page. */
  readonly page: string
  readonly ports: { readonly api: number; readonly apiOps: number; readonly ingesterOps: number }
  readonly redisCli: string | undefined
  readonly dataDir: string
  /** Which default ports were taken. */
  readonly note: string | undefined
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

/** Prints every address, then the first prices, or after a while why there are none. */
export async function announce(announcement: Announcement): Promise<void> {
  const { mode, page, ports, redisCli, dataDir, note, say } = announcement
  const api = apiUrl(announcement)
  say(
    mode === 'demo'
      ? 'Kimchi premium on SIMULATED prices (no network needed)'
      : 'Kimchi premium on the live exchanges',
  )
  say(`  Page    ${page}`)
  say(`  API     ${api}`)
  say(`          ${api}/BTC/daily`)
  if (redisCli) say(`  Redis   ${redisCli} fcall_ro kp_status 1 '{kp}:meta'`)
  say(`  Data    ${dataDir} (logs in logs/)`)
  say(`  Health  ${readyUrl(ports.ingesterOps)} (ingester), ${readyUrl(ports.apiOps)} (API)`)
  if (note) say(`  ${note}`)
  say('  Ctrl-C ends it.')
  await announceFirstPrices(announcement)
}

/** Prices of an earlier run would hide that the ingester gets none. */
async function announceFirstPrices(announcement: Announcement): Promise<void> {
  const { say, startedAt, signal } = announcement
  const explainAt = performance.now() + EXPLAIN_AFTER_MS
  let isExplained = false
  while (!signal.aborted) {
    const list = await getJson<LiveList>(apiUrl(announcement))
    if (list?.result === 'ok' && Date.parse(`${list.updated_at}Z`) > startedAt - FRESH_BEFORE_START_MS) {
      const [first] = list.data
      const example = first ? `, ${first.symbol} ${first.premium_pct} %` : ''
      say(`First prices, ${list.updated_at} UTC: ${list.count} coins${example}`)
      return
    }
    if (!isExplained && performance.now() > explainAt) {
      isExplained = true
      await explain(announcement)
    }
    await delay(POLL_MS, undefined, { signal }).catch(() => {})
  }
}

async function explain({ mode, ports, say }: Announcement): Promise<void> {
  const reasons = (await reasonsOf(ports.ingesterOps)) ?? []
  if (reasons.length === 0) {
    say('No prices yet; the first come a few seconds after the full minute.')
    for (const reason of (await reasonsOf(ports.apiOps)) ?? []) say(`  - ${reason}`)
    return
  }
  say('No prices yet. Still trying; the ingester says:')
  for (const reason of reasons) say(`  - ${reason}`)
  if (mode === 'live')
    say('Without access to the exchanges, the whole service runs on a simulator: npm run demo')
}

/** Why an app is not ready, except that its first minute is still to come; undefined without an answer. */
async function reasonsOf(port: number): Promise<readonly string[] | undefined> {
  const health = await getJson<{ reasons: readonly string[] }>(readyUrl(port))
  return health?.reasons.filter(reason => !reason.startsWith('no minute'))
}

interface LiveList {
  readonly result: string
  readonly updated_at: string
  readonly count: number
  readonly data: readonly { readonly symbol: string; readonly premium_pct: number }[]
}

function apiUrl({ ports }: Announcement): string {
  return `http://127.0.0.1:${ports.api}/api/v1/kimchi-premium`
}

function readyUrl(port: number): string {
  return `http://127.0.0.1:${port}/ready`
}

/** The parsed body of an answer, or undefined when there is none. */
async function getJson<T>(url: string): Promise<T | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
    return (await response.json()) as T
  } catch {
    return undefined
  }
}
