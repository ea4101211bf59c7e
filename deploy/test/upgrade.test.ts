import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createFolder } from '@kimchi/testkit'
import t, { type Test } from 'tap'

const run = promisify(execFile)
const SCRIPT = fileURLToPath(new URL('../upgrade.sh', import.meta.url))

/**
 * All that is asked of docker, with one container of each service; a build fails with BUILD=1, no container is ready
 * with READY=1, and all are of another version with OTHER=1. More containers are for .ci/engine.
 */
const DOCKER = `#!/bin/sh
case "$*" in rm* | stop* | 'compose up'*) echo "$*" >>"$HOME/bin/did" ;; esac
case "$*" in
  'compose config') echo 'name: x' ;;
  'compose config --services') ;;
  'compose build') exit "$BUILD" ;;
  'compose config --hash'*) echo "edge $OTHER" ;;
  *config-hash*) echo 0 ;;
  'compose config --images edge') printf '%s\\n' other:x x:x ;;
  'image inspect'*other:x) echo other ;;
  'inspect --format {{.Image}}'*) echo "x:$OTHER" ;;
  'image inspect --format {{.Id}}'*) echo x:0 ;;
  'exec '*) exit "$READY" ;;
  ps*service=api*) echo api ;;
  *) echo x:x ;;
esac
`

/** A checkout of the first of two versions: the second has other users, a file more, and the script. */
async function openCheckout(t: Test) {
  const dir = await createFolder(t)
  const bin = join(dir, 'bin')
  const users = join(dir, 'deploy/redis/users.acl')
  await mkdir(join(dir, 'deploy/redis'), { recursive: true })
  await mkdir(bin)
  for (const [name, text] of Object.entries({ docker: DOCKER, sleep: '#!/bin/sh\n' })) {
    await writeFile(join(bin, name), text, { mode: 0o755 })
  }
  await writeFile(join(dir, '.gitignore'), '/bin/\n/.env\n')
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: dir, TMPDIR: dir }
  const git = async (...args: readonly string[]) =>
    (
      await run('git', ['-c', 'user.name=x', '-c', 'user.email=x@x', ...args], { cwd: dir, env })
    ).stdout.trim()
  const commit = async (text: string) => {
    await writeFile(users, text)
    await git('add', '--all')
    await git('commit', '--quiet', '--message', text)
    return git('rev-parse', '--short', 'HEAD')
  }
  await git('init', '--quiet')
  const old = await commit('old')
  await cp(SCRIPT, join(dir, 'deploy/upgrade.sh'))
  await writeFile(join(dir, 'deploy/redis/api-url'), 'url')
  const next = await commit('new')
  await git('checkout', '--quiet', old)
  return {
    ...{ old, next, users, git },
    upgrade: (version: string, state: 'BUILD' | 'READY' | 'OTHER' | '' = '') => {
      const states = { BUILD: '0', READY: '0', OTHER: '0', [state]: '1' }
      return run('bash', [SCRIPT, version], { cwd: dir, env: { ...env, ...states } })
    },
    /** What containers were started, stopped and removed. */
    did: () => readFile(join(bin, 'did'), 'utf8'),
    /** The version that is checked out, the users, and the tag of the images. */
    state: async () => {
      const tag = await readFile(join(dir, '.env'), 'utf8').catch(() => '')
      return [await git('rev-parse', '--short', 'HEAD'), await readFile(users, 'utf8'), tag.trim()]
    },
  }
}

t.test('going back, and after a failure, the newer users stay, and no way forward is blocked', async t => {
  const { old, next, upgrade, state } = await openCheckout(t)
  t.match((await upgrade(next)).stdout, 'edge: as before')
  t.strictSame(await state(), [next, 'new', `VERSION=${next}`])
  for (const attempt of ['first', 'second']) {
    await upgrade(old, 'BUILD') // its images are there
    t.strictSame(await state(), [old, 'new', `VERSION=${old}`], attempt)
    t.match(await upgrade(next, 'BUILD').catch(({ stdout }) => stdout), `deploy/upgrade.sh ${next}; or `)
    t.strictSame(await state(), [old, 'new', `VERSION=${old}`], attempt)
    await upgrade(next)
    t.strictSame(await state(), [next, 'new', `VERSION=${next}`], attempt)
  }
  await t.rejects(upgrade('no-such'), { message: /no-such is no commit here: git fetch/ })
})

t.test('users of your own in the checkout stay as they are, whatever happens', async t => {
  const { old, next, users, upgrade, state } = await openCheckout(t)
  await writeFile(users, 'mine')
  await t.rejects(upgrade(next, 'BUILD'))
  t.strictSame(await state(), [old, 'mine', ''])
  for (const version of [next, old, next]) {
    await upgrade(version)
    t.strictSame(await state(), [version, 'mine', `VERSION=${version}`])
  }
})

t.test('an upgrade that continues and fails removes nothing that serves', async t => {
  const { next, upgrade, did } = await openCheckout(t)
  await upgrade(next)
  await t.rejects(upgrade(next, 'READY'), { message: /Command failed/ })
  t.notMatch(await did(), /^(?:rm|stop).* (?:api|x:x)/m)
})

t.test('while replicas go, of two edges the newer one serves', async t => {
  const { old, next, upgrade, did } = await openCheckout(t)
  await upgrade(next, 'OTHER')
  const forth = await did()
  t.match(forth, /--wait edge\n.*\bstop api$/ms)
  await upgrade(old, 'OTHER')
  t.match((await did()).slice(forth.length), /^stop api\n.*--wait edge$/ms)
})
