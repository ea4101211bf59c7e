import { spawnSync } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { findProgram, isUsableServer } from '../src/programs.ts'
import { projectRedis } from '../src/project-redis.ts'

const { PATH } = process.env

/** Has a test find these shell scripts as programs and no others. Gives their folder, and one for packages in it. */
async function onlyPrograms(t: Test, scripts: Readonly<Record<string, string>>) {
  const bin = t.testdir({ cache: {} })
  for (const [name, script] of Object.entries(scripts))
    await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  process.env.PATH = bin
  t.teardown(() => {
    process.env.PATH = PATH
  })
  return { bin, cacheDir: join(bin, 'cache') }
}

/** A script that is a program of this machine. */
const real = (name: string) => `PATH=${PATH} exec ${name} "$@"`

t.test('a server on PATH is used, with the client beside it', async t => {
  const { bin } = await onlyPrograms(t, {
    'valkey-server': 'echo "Valkey server v=8.0.1 sha=0 bits=64"',
    'valkey-cli': '',
  })
  t.strictSame(await projectRedis(), { server: join(bin, 'valkey-server'), cli: join(bin, 'valkey-cli') })
})

t.test('a server without functions is not used, and the advice names a command for each system', async t => {
  await onlyPrograms(t, { 'redis-server': 'echo "Redis server v=6.2.7 sha=0 bits=64"' })
  await t.rejects(projectRedis(), {
    code: 'KIMCHI_ERR_REDIS_BINARY',
    message: /apt-get[\s\S]*brew[\s\S]*dnf[\s\S]*docker/,
  })
})

t.test('an abort ends the fetching of packages, and leaves nothing behind', async t => {
  const { cacheDir } = await onlyPrograms(t, {
    'apt-get': `
      PATH=${PATH}
      [ "$2" = install ] && exec echo "Inst redis-server (8)"
      echo $$ >pid
      exec sleep 60`,
    'dpkg-deb': '',
  })
  const ending = new AbortController()
  const lines: string[] = []
  const finding = projectRedis(line => lines.push(line), ending.signal, cacheDir)
  const isAsleep = async () =>
    (await readdir(cacheDir, { recursive: true })).some(name => /\/pid$/.test(name))
  while (!(await isAsleep())) await delay(10)
  ending.abort()
  await t.rejects(finding, { name: 'AbortError' })
  t.match(lines, [/^No redis-server 7.0\+ on PATH/])
  t.strictSame(await readdir(cacheDir), [])
})

t.test('without package lists, two callers at once fetch lists of their own, as any user', async t => {
  const { cacheDir } = await onlyPrograms(t, {
    'apt-get': `
      PATH=${PATH}
      case "$*" in
        *Dir::State::lists=*/lists\\ update) [ -d lists/partial ] && exec touch lists/known ;;
        *Dir::State::lists=*/lists\\ install*) [ -f lists/known ] && exec echo "Inst redis-server (8)" ;;
        *Dir::State::lists=*/lists\\ download*) exec touch redis-server.deb ;;
      esac
      exit 100`,
    'dpkg-deb': `
      PATH=${PATH}
      mkdir -p "$3/usr/bin"
      printf '#!/bin/sh\\necho "Redis server v=7.0.15"\\n' >"$3/usr/bin/redis-server"
      chmod +x "$3/usr/bin/redis-server"`,
    dirname: real('dirname'),
  })
  const lines: string[] = []
  const [one, other] = await Promise.all([
    projectRedis(line => lines.push(line), undefined, cacheDir),
    projectRedis(undefined, undefined, cacheDir),
  ])
  t.strictSame(one, other)
  t.ok(await isUsableServer(one.server))
  t.match(lines, [/lists are missing/, /fetching the system's packages \(redis-server, redis-tools\)/])
  t.strictSame((await readdir(dirname(one.server))).sort(), ['redis-cli', 'redis-server', 'root'])
  t.equal((await readdir(cacheDir)).length, 1, 'no temporary folder is left')
})

t.test('offline, it says what apt says, without its command line', async t => {
  const { cacheDir } = await onlyPrograms(t, {
    'apt-get': 'echo "E: Unable to locate package redis-server" >&2; exit 100',
  })
  const { message } = await projectRedis(() => {}, undefined, cacheDir).catch(error => error)
  t.match(message, /failed: E: Unable to locate package redis-server\nNo redis-server/)
  t.notMatch(message, /Dir::|REDIS_URL/)
})

const onDebian = (await findProgram('apt-get')) !== undefined && process.platform === 'linux'

t.test(
  'the packages of this system run, and are fetched once',
  { skip: !onDebian && 'not Debian' },
  async t => {
    // Without redis-server on PATH, whatever this machine has installed.
    const names = ['apt-get', 'dpkg-deb', 'dirname']
    const { cacheDir } = await onlyPrograms(t, Object.fromEntries(names.map(name => [name, real(name)])))
    const lines: string[] = []
    const find = () => projectRedis(line => lines.push(line), undefined, cacheDir)
    const found = await find()
    t.match(spawnSync(found.server, ['--version']).stdout.toString(), /server v=/)
    t.match(spawnSync(found.cli ?? '', ['--version']).stdout.toString(), /^\S+-cli \d/)
    lines.length = 0
    t.strictSame(await find(), found)
    t.strictSame(lines, [], 'nothing is fetched a second time')
  },
)
