import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { freePort } from '@kimchi/local-redis'
import { createFolder, type RawResponse, type Teardown } from '@kimchi/testkit'
import { type Server, startServer } from './servers.ts'

/** The headers that an app sends itself; Node and nginx add the others. */
export function ownHeaders({ headers }: RawResponse): Readonly<Record<string, string>> {
  const { date: _date, connection: _connection, 'keep-alive': _keepAlive, ...own } = headers
  return own as Record<string, string>
}

/** Starts nginx with one worker that serves the bytes of an answer as a file, from its open file cache. */
export async function startFile(t: Teardown, path: string, answer: RawResponse): Promise<Server> {
  const port = await freePort()
  const dir = await createFolder(t)
  await writeFile(join(dir, 'answer'), answer.body)
  await writeFile(join(dir, 'answer.gz'), gzipSync(answer.body))
  const headers = Object.entries(ownHeaders(answer))
    .filter(([name]) => /^(access-control|cache-control|x-content|vary)/.test(name))
    .map(([name, value]) => `add_header ${name} "${value}";`)
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${name};`)
  // Root's nginx runs its worker as another user, who must not read our folder.
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const [route] = path.split('?')
  const text = `${user} worker_processes 1; daemon off; pid pid;
events { worker_connections 4096; }
http {
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; keepalive_timeout 65;
  open_file_cache max=100 inactive=1h; open_file_cache_valid 1h; types { } default_type application/json;
  ${paths.join(' ')}
  server {
    listen 127.0.0.1:${port};
    location = ${route} { alias ${dir}/answer; gzip_static on; ${headers.join(' ')} }
  }
}
`
  await writeFile(join(dir, 'nginx.conf'), text)
  const command = ['nginx', '-p', dir, '-c', 'nginx.conf', '-e', 'error.log']
  return startServer(t, command, `http://127.0.0.1:${port}${path}`)
}
