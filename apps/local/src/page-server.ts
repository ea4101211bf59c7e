import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { createProxyServer } from 'httpxy'
import sirv from 'sirv'

/** Where the page is, and which API it asks. */
export interface PageServerOptions {
  /** Folder of the built page. */
  readonly dir: string
  /** Base of the API, such as `http://127.0.0.1:3000`; everything under `/api/` is passed on to it. */
  readonly api: string
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
}

/** A page that is served. */
export interface PageServer {
  readonly url: string
  close(): Promise<void>
}

/** What a caller is told while the API starts or restarts. */
const NO_ANSWER = {
  result: 'error',
  code: 'not_ready',
  message: 'the API does not answer yet, try again soon',
}

/**
 * Serves the page's files, and passes `/api/` on to the API as the edge does in production, so that the page
 * asks its own origin only.
 */
export async function startPageServer({ dir, api, host, port }: PageServerOptions): Promise<PageServer> {
  // Read on each request: a build beside it must not leave it with names of files that are gone.
  const files = sirv(dir, { dev: true, etag: true, setHeaders })
  let url = ''
  const proxy = createProxyServer({ target: api, changeOrigin: true, proxyTimeout: 15_000 })
  proxy.on('error', (_error, _request, response) => refuse(response as ServerResponse))
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    // Its errors have been answered by then.
    if (request.url?.startsWith('/api/')) proxy.web(request, response).catch(() => {})
    else if (/^\/(index\.html)?([?#]|$)/.test(request.url ?? '')) sendIndex(response, dir, url)
    else files(request, response, () => notFound(response))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const address = server.address()
  url = `http://${host}:${typeof address === 'object' ? address?.port : port}/`
  return {
    url,
    close: async () => {
      const closed = new Promise(resolve => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

/**
 * Files under assets/ have their content's hash in their names; everything else is asked for again each time.
 */
function setHeaders(response: ServerResponse, path: string): void {
  const isHashed = path.startsWith('/assets/')
  response.setHeader('cache-control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
  response.setHeader('x-content-type-options', 'nosniff')
  response.setHeader('referrer-policy', 'no-referrer')
  response.setHeader('content-security-policy', "frame-ancestors 'none'")
}

/** The page itself, with the whole address of the picture that a shared link shows. */
function sendIndex(response: ServerResponse, dir: string, url: string): void {
  readFile(join(dir, 'index.html'), 'utf8').then(
    html => {
      setHeaders(response, '/')
      response.setHeader('content-type', 'text/html; charset=utf-8')
      response.end(html.replace('"/og.png"', `"${url}og.png"`))
    },
    () => notFound(response),
  )
}

function notFound(response: ServerResponse): void {
  response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found\n')
}

function refuse(response: ServerResponse): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store', 'retry-after': '5' }
  response.writeHead(503, headers).end(JSON.stringify(NO_ANSWER))
}
