import { LIMITS } from '../../apps/api/dist/http/server.js'

/** What the API gives to node:http, for contestants that are to have the same. */
export const SERVER_OPTIONS = {
  maxHeaderSize: LIMITS.maxHeaderSize,
  headersTimeout: LIMITS.headersTimeout,
  requestTimeout: LIMITS.requestTimeout,
  keepAliveTimeout: LIMITS.keepAliveTimeout,
  connectionsCheckingInterval: LIMITS.checkEvery,
  requireHostHeader: false,
  optimizeEmptyRequests: true,
}
