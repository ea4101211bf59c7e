import { setTimeout as delay } from 'node:timers/promises'

const POLL_MS = 500
/** When nothing has come by then, a person wants to know why; design §8 allows 15 s. */
const EXPLAIN_AFTER_MS = 10_000

/**
 * Says where everything is, why nothing comes if nothing comes, and when the first prices are there.
 * @param {{ mode: 'demo' | 'live', ports: { api: number, apiOps: number, ingesterOps: number }, redisCli: string | undefined,
 *   dataDir: string, say: (line: string) => void, signal: AbortSignal }} options
 */
export async function narrate({ mode, ports, redisCli, dataDir, say, signal }) {
  const api = `http://127.0.0.1:${ports.api}/api/v1/kimchi-premium`
  say(
    mode === 'demo'
      ? 'Kimchi premium on SIMULATED prices (no network needed)'
      : 'Kimchi premium on the live exchanges',
  )
  say(`  API     ${api}`)
  say(`          ${api}/BTC/daily`)
  if (redisCli) say(`  Redis   ${redisCli} hgetall '{kp}:live'`)
  say(`  Data    ${dataDir} (logs in ${dataDir}/logs)`)
  say(
    `  Health  http://127.0.0.1:${ports.ingesterOps}/ready (ingester), http://127.0.0.1:${ports.apiOps}/ready (API)`,
  )
  say('  Ctrl-C ends it.')
  await announceFirstPrices({
    api,
    ingester: `http://127.0.0.1:${ports.ingesterOps}/ready`,
    mode,
    say,
    signal,
  })
}

/** @param {{ api: string, ingester: string, mode: string, say: (line: string) => void, signal: AbortSignal }} options */
async function announceFirstPrices({ api, ingester, mode, say, signal }) {
  const explainAt = performance.now() + EXPLAIN_AFTER_MS
  let explained = false
  while (!signal.aborted) {
    const list = await getJson(api)
    if (list?.result === 'ok') {
      const [first] = list.data
      say(
        `First prices, ${list.updated_at} UTC: ${list.count} coins${first ? `, ${first.symbol} ${first.premium_pct} %` : ''}`,
      )
      return
    }
    if (!explained && performance.now() > explainAt) {
      explained = true
      await explain({ ingester, mode, say })
    }
    await delay(POLL_MS, undefined, { signal }).catch(() => {})
  }
}

/** @param {{ ingester: string, mode: string, say: (line: string) => void }} options */
async function explain({ ingester, mode, say }) {
  const health = await getJson(ingester)
  const reasons = (health?.reasons ?? []).filter(
    (/** @type {string} */ reason) => !reason.startsWith('no minute'),
  )
  if (reasons.length === 0) {
    say('No prices yet; the first come within a second after the full minute.')
    return
  }
  say('No prices yet: the exchanges are out of reach. Still trying; the reasons:')
  for (const reason of reasons) say(`  - ${reason}`)
  if (mode === 'live')
    say('Without access to the exchanges, the whole service runs on a simulator: npm run demo')
}

/** @param {string} url @returns {Promise<any>} the parsed answer, or undefined when there is none */
async function getJson(url) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
    return await response.json()
  } catch {
    return undefined
  }
}
