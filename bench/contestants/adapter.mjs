/**
 * Chainlink's framework for adapters, which serves prices to oracles: the same coins, written into its own
 * cache every second, one coin to a request, every request a hit.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { listOf } from '../lib/lists.mjs'

const { peersIn, coins } = JSON.parse(process.argv[2] ?? '{}')
const peers = createRequire(join(peersIn, 'package.json'))
const framework = (path = '') => peers(`@chainlink/external-adapter-framework${path}`)
const { expose } = framework()
const { Adapter, AdapterEndpoint } = framework('/adapter')
const { SubscriptionTransport } = framework('/transports/abstract/subscription')
const { InputParameters } = framework('/validation')

const { plain } = listOf(coins)
const { data } = JSON.parse(String(plain))

class PremiumTransport extends SubscriptionTransport {
  getSubscriptionTtlFromConfig(settings) {
    return settings.WARMUP_SUBSCRIPTION_TTL
  }

  async backgroundHandler() {
    const now = Date.now()
    const timestamps = { providerDataRequestedUnixMs: now, providerDataReceivedUnixMs: now }
    const entries = data.map(row => ({
      params: { symbol: row.symbol },
      response: { statusCode: 200, result: row.premium_pct, data: row, timestamps },
    }))
    await this.responseCache.write(this.name, entries)
    await new Promise(resolve => setTimeout(resolve, 1_000))
  }
}

const endpoint = new AdapterEndpoint({
  name: 'premium',
  transport: new PremiumTransport(),
  inputParameters: new InputParameters({
    symbol: { type: 'string', required: true, description: 'Coin ticker symbol' },
  }),
})
await expose(new Adapter({ name: 'KIMCHI', defaultEndpoint: 'premium', endpoints: [endpoint] }))
