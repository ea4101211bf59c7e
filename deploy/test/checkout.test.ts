import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createFolder } from '@kimchi/testkit'
import t, { type Test } from 'tap'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const skip = spawnSync('git', ['rev-parse'], { cwd: ROOT }).status === 0 ? false : 'no git, or no clone'

/** A clone as somebody else's git and shell make it. */
async function checkOut(t: Test, umask: string, ...settings: readonly string[]) {
  const dir = await createFolder(t)
  const config = settings.flatMap(setting => ['-c', setting])
  const clone = ['git', ...config, 'clone', '--quiet', '--shared', ROOT, dir]
  execFileSync('sh', ['-c', `umask ${umask}; exec "$@"`, 'sh', ...clone])
  const run = (command: string, ...args: readonly string[]) =>
    spawnSync(command, args, { cwd: dir, encoding: 'utf8' })
  const list = (...args: readonly string[]) =>
    run('git', 'ls-files', ...args)
      .stdout.trim()
      .split('\n')
  return { dir, run, list }
}

t.test('Git for Windows writes no CRLF, and every program starts by its first line', { skip }, async t => {
  const { dir, run, list } = await checkOut(t, '022', 'core.autocrlf=true', 'core.eol=crlf')
  const converted = list('--eol').filter(line => /w\/(crlf|mixed)/.test(line))
  t.strictSame(converted, [])
  const executables = list('--stage').flatMap(line => /^100755 .*\t(.*)$/.exec(line)?.[1] ?? [])
  t.ok(executables.length > 10, `${executables.length}`)
  for (const file of executables) {
    const [first = ''] = readFileSync(join(dir, file), 'utf8').split('\n')
    const interpreter = /^#!(?:\/usr\/bin\/env )?(\S+)$/.exec(first)?.[1] ?? ''
    const check = run(interpreter, interpreter === 'node' ? '--check' : '-n', file)
    t.equal(check.status, 0, `${file}: ${check.error ?? check.stderr}`)
  }
})

t.test(
  'a checkout under umask 077 or 027 is refused before anything starts, with a remedy that helps',
  { skip },
  async t => {
    for (const umask of ['077', '027']) {
      const { dir, run } = await checkOut(t, umask)
      const refused = run('deploy/image/check-modes.sh')
      t.equal(refused.status, 1)
      const lines = refused.stderr.trim().split('\n')
      t.ok(lines.includes('deploy/redis-start/start.sh') && lines.includes('deploy/nginx/site'))
      t.match(lines.at(-1), /Run: chmod -R go\+rX deploy$/)
      t.equal(run('chmod', '-R', 'go+rX', 'deploy').status, 0)
      t.match(run('deploy/image/check-modes.sh'), { status: 0, stderr: '' })
      t.ok(mounted(dir).length > 10)
      for (const source of mounted(dir)) {
        t.match(source, /^\.\/deploy\//, 'which is what the check looks at')
        t.ok(statSync(join(dir, source)).mode & 0o004, source)
      }
    }
  },
)

/** What Compose mounts of the checkout. */
function mounted(dir: string): readonly string[] {
  const text = readFileSync(join(dir, 'docker-compose.yml'), 'utf8')
  return [...text.matchAll(/[-" ](\.\/[\w./-]+)/g)].map(([, source = '']) => source)
}
