/**
 * Chainlink's framework for adapters, which serves prices to oracles: the same coins, written into its own
 * cache every second, one coin to a request, every request a hit.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const { peersIn, bodyFile } = JSON.parse(process.argv[2] ?? '{}')
const peers = createRequire(join(peersIn, 'package.json'))
const framework = (path = '') => peers(`@chainlink/external-adapter-framework${path}`)
const { expose } = framework()
const { Adapter, AdapterEndpoint } = framework('/adapter')
const { SubscriptionTransport } = framework('/transports/abstract/subscription')
const { InputParameters } = framework('/validation')
const { data } = JSON.parse(readFileSync(bodyFile, 'utf8'))

class PremiumTransport extends SubscriptionTransport {
  getSubscriptionTtlFromConfig(settings: { WARMUP_SUBSCRIPTION_TTL: number }) {
    return settings.WARMUP_SUBSCRIPTION_TTL
  }

  async backgroundHandler() {
    const now = Date.now()
    const timestamps = { providerDataRequestedUnixMs: now, providerDataReceivedUnixMs: now }
    const entries = data.map((row: { symbol: string; premium_pct: number }) => ({
      params: { symbol: row.symbol },
      response: { statusCode: 200, result: row.premium_pct, data: row, timestamps },
    }))
    await this.responseCache.write(this.name, entries)
    await delay(1_000)
  }
}

const symbol = { type: 'string', required: true, description: 'Coin ticker symbol' }
const inputParameters = new InputParameters({ symbol })
const endpoint = new AdapterEndpoint({ name: 'premium', transport: new PremiumTransport(), inputParameters })
await expose(new Adapter({ name: 'KIMCHI', defaultEndpoint: 'premium', endpoints: [endpoint] }))
