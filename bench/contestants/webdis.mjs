/** Webdis: Redis over HTTP. The route is the one HGETALL that holds the live list. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The request that brings the rows of the live list. */
export const WEBDIS_PATH = '/HGETALL/%7Bkp%7D%3Alive.json'

/**
 * Writes the configuration.
 * @param {{ dir: string, port: number, redisPort: number }} options
 * @returns {string[]} arguments for webdis
 */
export function prepareWebdis({ dir, port, redisPort }) {
  const file = join(dir, 'webdis.json')
  const settings = {
    redis_host: '127.0.0.1',
    redis_port: redisPort,
    http_host: '127.0.0.1',
    http_port: port,
    threads: 1,
    pool_size: 10,
    daemonize: false,
    database: 0,
    verbosity: 1,
    logfile: join(dir, 'webdis.log'),
  }
  writeFileSync(file, JSON.stringify(settings))
  return [file]
}
