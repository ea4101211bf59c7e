import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import type { Milliseconds } from '@kimchi/core'
import type { Mode } from './config.ts'
import type { LocalContext } from './supervisor.ts'

const POLL_MS: Milliseconds = 500
/** An API that takes longer to answer counts as not answering. */
const TIMEOUT_MS: Milliseconds = 2_000
/** A list that is this fresh at the start is shown too: an earlier run has only just ended. */
const FRESH_BEFORE_START_MS: Milliseconds = 120_000

export interface StartupMessage extends LocalContext {
  readonly mode: Mode
  readonly page: string
  /** Address of the API, such as `http://127.0.0.1:3000`. */
  readonly api: string
  readonly ports: { readonly apiOps: number; readonly ingesterOps: number }
  readonly redisCli: string | undefined
  readonly dataDir: string
}

/** Prints every address, then the first prices; why there are none the apps themselves say. */
export async function showStartupMessage(shown: StartupMessage): Promise<void> {
  const { mode, page, api, ports, redisCli, dataDir, say } = shown
  const list = `${api}/api/v1/kimchi-premium`
  say(
    mode === 'demo'
      ? 'Kimchi premium on SIMULATED prices (no network needed)'
      : 'Kimchi premium on the live exchanges (without access to them: npm run demo)',
  )
  say(`  Page    ${page}`)
  say(`  API     ${list}`)
  say(`          ${list}/BTC/daily`)
  if (redisCli) say(`  Redis   ${redisCli} fcall_ro kp_status 1 '{kp}:meta'`)
  say(`  Data    ${dataDir} (logs in logs/)`)
  say(
    `  Health  http://127.0.0.1:${ports.ingesterOps}/ready (ingester), http://127.0.0.1:${ports.apiOps}/ready (API)`,
  )
  say('The first prices come a few seconds after the full minute. Ctrl-C ends it.')
  await showFirstPrices(shown, list)
}

/** Prices of an earlier run would hide that the ingester gets none. */
async function showFirstPrices({ say, clock, signal }: LocalContext, url: string): Promise<void> {
  const freshFrom = clock.now() - FRESH_BEFORE_START_MS
  while (!signal.aborted) {
    const list = await ask(url)
    if (list?.data && Date.parse(`${list.updated_at}Z`) > freshFrom) {
      const [first] = list.data
      const example = first ? `, ${first.symbol} ${first.premium_pct} %` : ''
      say(`First prices, ${list.updated_at} UTC: ${list.count} coins${example}`)
      return
    }
    await clock.wait(POLL_MS, signal)
  }
}

/** A list, or an error, which has no rows. */
interface LiveList {
  readonly updated_at: string
  readonly count: number
  readonly data?: readonly { readonly symbol: string; readonly premium_pct: number }[]
}

/** What the API answers; undefined without an answer. An agent of its own takes no proxy of the environment. */
async function ask(url: string): Promise<LiveList | undefined> {
  try {
    const asking = get(url, { agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) })
    const [response] = (await once(asking, 'response')) as [IncomingMessage]
    // From here on the response reports errors too.
    asking.on('error', () => {})
    return (await json(response)) as LiveList
  } catch {
    return undefined
  }
}
