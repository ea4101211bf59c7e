import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createProxyServer } from 'httpxy'
import sirv from 'sirv'

const HOST = '127.0.0.1'

/**
 * Serves the page's files on 127.0.0.1, and passes `/api/` on to the API as the edge does in production, so
 * that the page asks its own origin only.
 * @param dir folder of the built page
 * @param api address of the API, such as `http://127.0.0.1:3000`
 * @param port 0 picks a free one
 */
export async function startPageServer(dir: string, api: string, port: number) {
  // `dev` reads the files on each request: a new build must not leave the server with names that are gone.
  const files = sirv(dir, { dev: true, etag: true, setHeaders })
  const proxy = createProxyServer({ target: api, changeOrigin: true, proxyTimeout: 15_000 })
  proxy.on('error', (_error, _request, response) => refuse(response as ServerResponse))
  const server = createServer((request, response) => {
    const page = pageOf(request.url ?? '')
    // The listener above answers errors.
    if (request.url?.startsWith('/api/')) proxy.web(request, response).catch(() => {})
    else if (page !== undefined) void sendPage(response, dir, page, url)
    else files(request, response, () => notFound(response))
  })
  server.listen(port, HOST)
  await once(server, 'listening')
  const url = `http://${HOST}:${(server.address() as AddressInfo).port}/`
  return {
    url,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** The names of files under assets/ hold a hash of their content; everything else is revalidated each time. */
function setHeaders(response: ServerResponse, path: string): void {
  const isHashed = path.startsWith('/assets/')
  response.setHeader('cache-control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
  response.setHeader('x-content-type-options', 'nosniff')
  response.setHeader('referrer-policy', 'no-referrer')
  response.setHeader('content-security-policy', "frame-ancestors 'none'")
}

/** The file that names the site's own address; undefined for everything else. */
function pageOf(target: string): string | undefined {
  const path = target.replace(/[?#].*$/, '').replace(/^\/$/, '/index.html')
  return /^\/[\w.]+\.(html|json)$/.test(path) ? path : undefined
}

/** A shared link shows its picture only by a whole address, and an example is to be pasted as it is. */
async function sendPage(response: ServerResponse, dir: string, page: string, url: string): Promise<void> {
  const html = await readFile(join(dir, page), 'utf8').catch(() => undefined)
  if (html === undefined) return notFound(response)
  setHeaders(response, '/')
  response.setHeader('content-type', page.endsWith('.json') ? 'application/json' : 'text/html; charset=utf-8')
  response.end(html.replaceAll('https://premium.example', url.slice(0, -1)))
}

function notFound(response: ServerResponse): void {
  response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found\n')
}

/** The response while the API starts or restarts. */
function refuse(response: ServerResponse): void {
  if (response.headersSent) return void response.destroy()
  const body = { result: 'error', code: 'not_ready', message: 'the API does not answer yet, try again soon' }
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store', 'retry-after': '5' }
  response.writeHead(503, headers).end(JSON.stringify(body))
}
