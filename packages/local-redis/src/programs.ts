import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Redis Functions came with Redis 7.0; the first Valkey is 7.2, so one bound serves both. */
const MIN_MAJOR_VERSION = 7

/** The programs of one usable Redis or Valkey, by absolute paths; they run as they stand. */
export interface RedisBinary {
  readonly server: string
  /** Undefined where only a server is installed. */
  readonly cli: string | undefined
}

/** Absolute path of a program on PATH, or undefined. */
export async function findProgram(name: string): Promise<string | undefined> {
  const found = await run('/bin/sh', ['-c', `command -v ${name}`]).catch(() => undefined)
  return found?.stdout.trim()
}

/** Whether a server binary runs on this machine and knows Redis Functions. */
export async function isUsableServer(server: string): Promise<boolean> {
  try {
    const { stdout } = await run(server, ['--version'], { timeout: 10_000 })
    return Number(/v=(\d+)\./.exec(stdout)?.[1]) >= MIN_MAJOR_VERSION
  } catch {
    return false
  }
}

/** What a person can do on each system when no Redis is found. */
export const INSTALL_ADVICE = [
  'No redis-server 7.0+ or valkey-server 7.2+ was found on PATH. Install one and start again:',
  '  Debian, Ubuntu  sudo apt-get install redis-server',
  '  macOS           brew install redis',
  '  Fedora, RHEL    sudo dnf install valkey',
  '  Docker          docker compose up --build   on simulated prices: --env-file deploy/demo.env before up',
].join('\n')
