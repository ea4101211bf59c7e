/** nginx with one worker, serving the same bytes as a static file from its open file cache. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

/**
 * Writes the files and the configuration.
 * @param {{ dir: string, port: number, path: string, headers: Record<string, string>, body: Buffer,
 *   limits?: string }} options limits: the configuration's own, for `http`
 * @returns {string[]} arguments for nginx
 */
export function prepareNginx({ dir, port, path, headers, body, limits = '' }) {
  mkdirSync(dir, { recursive: true })
  const file = join(dir, 'answer.json')
  writeFileSync(file, body)
  writeFileSync(`${file}.gz`, gzipSync(body))
  const kept = Object.entries(headers).filter(([name]) =>
    /^(access-control|cache-control|x-content|vary)/.test(name),
  )
  writeFileSync(
    join(dir, 'nginx.conf'),
    // Started by root, its worker would be someone else, who must not read our folder.
    `${process.getuid?.() === 0 ? 'user root; ' : ''}worker_processes 1; daemon off; pid ${dir}/pid; error_log ${dir}/error.log;
events { worker_connections 4096; }
http {
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; keepalive_timeout 65;
  open_file_cache max=100 inactive=1h; open_file_cache_valid 1h; types { } default_type application/json;
  client_body_temp_path ${dir}/t1; proxy_temp_path ${dir}/t2; fastcgi_temp_path ${dir}/t3;
  uwsgi_temp_path ${dir}/t4; scgi_temp_path ${dir}/t5;
  ${limits}
  server {
    listen 127.0.0.1:${port};
    location = ${path} { alias ${file}; gzip_static on; ${kept.map(([name, value]) => `add_header ${name} "${value}";`).join(' ')} }
  }
}
`,
  )
  return ['-c', join(dir, 'nginx.conf'), '-p', dir, '-e', join(dir, 'error.log')]
}
