import { request } from 'node:http'

/**
 * The headers an app sends itself; Node adds the others.
 * @param {import('node:http').IncomingHttpHeaders} headers
 */
export function own(headers) {
  const { date: _date, connection: _connection, 'keep-alive': _keepAlive, ...rest } = headers
  return /** @type {Record<string, string>} */ (rest)
}

/**
 * One request, nothing decoded.
 * @param {string} url
 * @param {Record<string, string>} headers
 * @returns {Promise<{ status: number, headers: import('node:http').IncomingHttpHeaders, body: Buffer }>}
 */
export function exchange(url, headers) {
  return new Promise((resolve, reject) => {
    request(url, { headers, agent: false }, response => {
      /** @type {Buffer[]} */
      const chunks = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      )
    })
      .on('error', reject)
      .end()
  })
}
