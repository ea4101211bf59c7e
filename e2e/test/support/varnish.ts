import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { freePort } from '@kimchi/local-redis'
import { ask, createFolder, eventually, followProgram, type Teardown } from '@kimchi/testkit'

const VARNISHD = '/usr/sbin/varnishd'

/** Why there is no Varnish here, for a test that is skipped then; false when there is one. */
export const lacksVarnish = existsSync(VARNISHD)
  ? false
  : 'Varnish is not installed (apt-get install varnish)'

/** Puts a Varnish as its package sets it in front of a port, and resolves with its own; it ends with the test. */
export async function openVarnish(t: Teardown, backend: number): Promise<number> {
  const port = await freePort()
  const args = [
    '-F',
    '-j',
    'none',
    '-a',
    `127.0.0.1:${port}`,
    '-b',
    `127.0.0.1:${backend}`,
    '-s',
    'malloc,16m',
  ]
  const varnish = followProgram(spawn(VARNISHD, [...args, '-n', await createFolder(t)]), 'varnishd')
  t.teardown(() => varnish.end())
  await eventually('Varnish answers', () =>
    ask(port, '/').then(
      () => true,
      () => false,
    ),
  )
  return port
}
