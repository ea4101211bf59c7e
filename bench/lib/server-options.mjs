/** What the API gives to node:http, for contestants that are to have the same. */
export const SERVER_OPTIONS = {
  maxHeaderSize: 8_192,
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 1_000,
  requireHostHeader: false,
  optimizeEmptyRequests: true,
}
