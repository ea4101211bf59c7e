import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { freePort } from '@kimchi/local-redis'
import type { HttpAnswer } from '@kimchi/testkit'
import { type Server, startServer, untilAnswers } from './servers.ts'
import type { Stage } from './stage.ts'

/** The headers that an app sends itself; Node and nginx add the others. */
export function ownHeaders({ headers }: HttpAnswer): Readonly<Record<string, string>> {
  const { date: _date, connection: _connection, 'keep-alive': _keepAlive, ...own } = headers
  return own as Record<string, string>
}

/** Starts nginx with one worker that serves the bytes of an answer as a file, from its open file cache. */
export async function startFile(t: Stage, path: string, answer: HttpAnswer): Promise<Server> {
  const port = await freePort()
  const dir = join(t.dir, `nginx-${port}`)
  const file = join(dir, 'answer.json')
  await mkdir(dir)
  await writeFile(file, answer.body)
  await writeFile(`${file}.gz`, gzipSync(answer.body))
  const kept = Object.entries(ownHeaders(answer))
    .filter(([name]) => /^(access-control|cache-control|x-content|vary)/.test(name))
    .map(([name, value]) => `add_header ${name} "${value}";`)
  const [route] = path.split('?')
  await writeFile(
    join(dir, 'nginx.conf'),
    // Started by root, its worker would be someone else, who must not read our folder.
    `${process.getuid?.() === 0 ? 'user root; ' : ''}worker_processes 1; daemon off; pid ${dir}/pid;
events { worker_connections 4096; }
http {
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; keepalive_timeout 65;
  open_file_cache max=100 inactive=1h; open_file_cache_valid 1h; types { } default_type application/json;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${dir}/${name};`).join(' ')}
  server {
    listen 127.0.0.1:${port};
    location = ${route} { alias ${file}; gzip_static on; ${kept.join(' ')} }
  }
}
`,
  )
  const program = startServer(t, [
    'nginx',
    '-c',
    join(dir, 'nginx.conf'),
    '-p',
    dir,
    '-e',
    `${dir}/error.log`,
  ])
  await untilAnswers(port, path)
  return { port, pids: [program.pid], program }
}
