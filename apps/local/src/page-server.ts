import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { listenAt } from '@kimchi/runtime'
import { createProxyServer } from 'httpxy'
import sirv from 'sirv'
import { urlOf } from './ports.ts'

/**
 * Serves the page's files, and passes `/api/` on to the API as the edge does in production, so
 * that the page asks its own origin only.
 * @param dir folder of the built page
 * @param api address of the API, such as `http://127.0.0.1:3000`
 * @param port 0 picks a free one
 * @param host address to listen on
 */
export async function startPageServer(dir: string, api: string, port: number, host: string) {
  // `dev` reads the files on each request: a new build must not leave the server with names that are gone.
  const files = sirv(dir, { dev: true, etag: true })
  const proxy = createProxyServer({ target: api, changeOrigin: true, proxyTimeout: 15_000 })
  const server = createServer((request, response) => {
    const page = pageOf(request.url ?? '')
    if (request.url?.startsWith('/api/')) proxy.web(request, response).catch(() => refuse(response))
    else if (page !== undefined) void sendPage(response, join(dir, page), url)
    else files(request, response)
  })
  await listenAt('PAGE_PORT', { host, port }, address => once(server.listen(address), 'listening'))
  const url = `${urlOf(host, (server.address() as AddressInfo).port)}/`
  return {
    url,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** The file that names the site's own address; undefined for everything else. */
function pageOf(target: string): string | undefined {
  const path = target.replace(/[?#].*$/, '').replace(/^\/$/, '/index.html')
  return /^\/[\w.]+\.(html|json)$/.test(path) ? path : undefined
}

/** A shared link shows its picture only by a whole address, and an example is to be pasted as it is. */
async function sendPage(response: ServerResponse, page: string, url: string): Promise<void> {
  const text = await readFile(page, 'utf8').catch(() => undefined)
  if (text === undefined) return void response.writeHead(404).end()
  const type = page.endsWith('.json') ? 'application/json' : 'text/html; charset=utf-8'
  response.writeHead(200, { 'content-type': type, 'cache-control': 'no-cache' })
  response.end(text.replaceAll('https://premium.example', url.slice(0, -1)))
}

/** The response while the API starts or restarts. */
function refuse(response: ServerResponse): void {
  if (response.headersSent) return void response.destroy()
  const body = { result: 'error', code: 'not_ready', message: 'the API does not answer yet, try again soon' }
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store', 'retry-after': '5' }
  response.writeHead(503, headers).end(JSON.stringify(body))
}
