import { execFile, spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { parse } from 'yaml'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const { PATH = '' } = process.env

/** Compose 2: the program, or the plugin of a Docker that is installed. */
const command = [['docker-compose'], ['docker', 'compose']].find(([program = '', ...args]) => {
  const { stdout } = spawnSync(program, [...args, 'version', '--short'], { encoding: 'utf8' })
  return /^v?[2-9]/.test(stdout ?? '')
})
const skip = command === undefined ? 'Compose 2 is not installed' : false

interface Service {
  readonly user?: string
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly init?: boolean
  readonly mem_limit?: string
  readonly cpus?: number
  readonly healthcheck?: unknown
  readonly image?: string
  readonly ports?: readonly unknown[]
  readonly profiles?: readonly string[]
  readonly networks?: Readonly<Record<string, unknown>>
  readonly environment?: Readonly<Record<string, string>>
  readonly scale?: number
  readonly build?: { readonly args?: Readonly<Record<string, string>> }
  readonly pull_policy?: string
  readonly volumes?: readonly { readonly source: string; readonly target: string }[]
}

/** What compose makes of the file with nothing in the environment but the PATH. */
async function readConfig(...args: readonly string[]): Promise<Record<string, Service>> {
  return (await readWith({}, ...args)).services
}

async function readWith(env: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const [program = '', ...plugin] = command ?? []
  // Not the settings of whoever runs the tests.
  const envFile = args.includes('--env-file') ? [] : ['--env-file', '/dev/null']
  const options = { cwd: ROOT, env: { ...env, PATH } }
  const { stdout } = await run(program, [...plugin, ...envFile, ...args, 'config'], options)
  return parse(stdout)
}

/** What holds for every container. */
function isSmallTarget(t: Test, services: Record<string, Service>): void {
  for (const [name, service] of Object.entries(services)) {
    t.match(service.user, /^[1-9]\d*:[1-9]\d*$/, `${name} is nobody special, by number`)
    t.strictSame(service.cap_drop, ['ALL'], name)
    t.match(service, { read_only: true, init: true, security_opt: ['no-new-privileges:true'] }, name)
    t.ok(service.mem_limit && service.cpus, `${name} has limits`)
    t.ok(service.healthcheck, `${name} has a health check`)
    t.match(service.image, /:v?\d+\.\d+\.\d+(@sha256:[0-9a-f]{64})?$/, `${name} has an exact tag`)
  }
}

t.test('with an empty environment', { skip }, async t => {
  // Compose 1 prints the services of all profiles.
  const all = Object.entries(await readConfig()).filter(([, { profiles }]) => profiles === undefined)
  const services = Object.fromEntries(all)
  t.strictSame(
    Object.keys(services).sort(),
    ['api', 'edge', 'ingester-a', 'ingester-b', 'redis'],
    'the default profile',
  )
  const published = Object.entries(services).filter(([, { ports = [] }]) => ports.length > 0)
  t.strictSame(
    published.map(([name]) => name),
    ['edge'],
    'only the edge is published',
  )
  t.strictSame(Object.keys(services.redis?.networks ?? {}), ['data'], 'Redis is on a network of its own')
  t.equal(services.api?.scale, 2, 'one replica may go')
  for (const { cpus = 0 } of Object.values(services)) t.ok(cpus <= 1, 'a machine may have one core')
  isSmallTarget(t, services)
})

t.test('with monitoring, which nobody outside this machine reaches', { skip }, async t => {
  const services = await readConfig('--profile', 'monitoring')
  const { grafana, prometheus, alertmanager } = services
  t.match(JSON.stringify(grafana?.ports), /"127\.0\.0\.1.*3001/)
  t.strictSame([prometheus?.ports, alertmanager?.ports], [undefined, undefined])
  t.strictSame(
    Object.keys(prometheus?.networks ?? {}).sort(),
    ['data', 'public'],
    'it sees the apps, and no way out',
  )
  isSmallTarget(t, services)
})

t.test('with Sentinel there are two more users, and each container is a small target', { skip }, async t => {
  isSmallTarget(t, await readConfig('-f', 'docker-compose.yml', '-f', 'deploy/sentinel.compose.yml'))
  const users = async (folder: string) => readFile(join(ROOT, 'deploy', folder, 'users.acl'), 'utf8')
  const more = (await users('sentinel')).split('\n').filter(line => /^user (replica|sentinel) /.test(line))
  t.equal(more.length, 2)
  t.equal(await users('sentinel'), `${await users('redis')}${more.join('\n')}\n`)
})

t.test('the demo asks the simulator, and keeps away from the Redis of real prices', { skip }, async t => {
  const services = await readConfig('--env-file', 'deploy/demo.env')
  for (const name of ['ingester-a', 'ingester-b']) {
    const { environment = {} } = services[name] ?? {}
    t.equal(environment.PRICES, 'simulated')
    for (const url of ['UPBIT_WS_URL', 'UPBIT_REST_URL', 'BINANCE_WS_URL', 'BINANCE_REST_URL']) {
      t.match(environment[url], /\/\/simulator:8000/)
    }
  }
  t.match(await readFile(join(ROOT, 'deploy/demo.env'), 'utf8'), /^COMPOSE_PROJECT_NAME=kimchi-demo$/m)
})

t.test('each image is built by one service alone', async t => {
  const { services } = parse(await readFile(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true })
  const built = Object.values<Service>(services).filter(({ build }) => build !== undefined)
  const images = built.map(({ image }) => image)
  t.strictSame(images.sort(), [...new Set(images)].sort())
  const own = Object.values<Service>(services).filter(({ image }) => image?.startsWith('kimchi-premium/'))
  for (const { image } of own) t.ok(images.includes(image), `${image} is built`)
})

t.test('our images are built, with their commit, and never pulled', { skip }, async t => {
  const { services } = await readWith(
    { VERSION: 'c0ffee', SITE_URL: 'https://x.example' },
    '--profile',
    'demo',
  )
  const ours = Object.values<Service>(services).filter(({ image }) => image?.startsWith('kimchi-premium/'))
  t.equal(ours.length, 5)
  for (const { image, pull_policy } of ours)
    t.strictSame([image?.split(':')[1], pull_policy], ['c0ffee', 'never'])
  for (const { build } of ours.filter(({ build }) => build)) {
    t.match(build?.args, { VERSION: 'c0ffee', REVISION: 'c0ffee', SITE_URL: 'https://x.example' })
  }
})

t.test('users, receivers and Prometheus have their files outside the checkout', { skip }, async t => {
  const text = await readFile(join(ROOT, 'deploy/production.env'), 'utf8')
  const uncommented = text.replaceAll(/^# (?=[A-Z_\d]+=)/gm, '')
  const env = Object.fromEntries(
    [...uncommented.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  )
  t.ok(Object.keys(env).length > 12)
  const { services, networks, secrets } = await readWith({ ...env, COMPOSE_FILE: 'docker-compose.yml' })
  const mounted = (name: string, target: string) =>
    (services[name] as Service).volumes?.find(volume => volume.target === target)?.source
  t.equal(mounted('redis', '/etc/valkey'), env.REDIS_USERS)
  t.equal(mounted('alertmanager', '/etc/alertmanager/alertmanager.yml'), env.ALERTMANAGER_CONFIG)
  t.equal(mounted('prometheus', '/etc/prometheus/prometheus.yml'), env.PROMETHEUS_CONFIG)
  t.equal(mounted('prometheus', '/etc/prometheus/probe.yml'), env.PROBE_TARGETS)
  t.equal(secrets['api-url'].file, `${env.REDIS_USERS}/api-url`)
  t.equal(secrets['ingester-url'].file, `${env.REDIS_USERS}/ingester-url`)
  t.equal(services.redis.mem_limit, String(2 ** 30))
  t.match(services.redis.command.join(' '), /--maxmemory 768mb/)
  t.not(networks.outside.enable_ipv6, true)
})

t.test('both ingesters trust the authority of a proxy that opens TLS', { skip }, async t => {
  const files = ['-f', 'docker-compose.yml', '-f', 'deploy/extra-ca.compose.yml']
  const { services } = await readWith({ NODE_EXTRA_CA_CERTS: '/etc/kimchi/ca.pem' }, ...files)
  for (const { environment, volumes = [] } of [services['ingester-a'], services['ingester-b']]) {
    const [{ source, target }] = volumes
    t.equal(source, '/etc/kimchi/ca.pem')
    t.match(environment, { NODE_EXTRA_CA_CERTS: target, REDIS_URL_FILE: /./ })
  }
})

t.test('every setting of an app can be given to its container', { skip }, async t => {
  const services = await readConfig()
  const table = await readFile(join(ROOT, 'docs/configuration.md'), 'utf8')
  const rows = [...table.matchAll(/^\| ([A-Z_]+) \| ([a-z, ]+) \|/gm)]
  t.ok(rows.length > 10)
  // Where it listens is the container's own matter.
  const isInside = (name: string) => /^(OPS_|HOST$|PORT$)/.test(name)
  for (const [, name = '', readers = ''] of rows) {
    for (const app of readers.split(', ').filter(app => app !== 'local' && !isInside(name))) {
      const service = app === 'ingester' ? 'ingester-a' : app
      const given = Object.keys(services[service]?.environment ?? {})
      t.ok(given.includes(name) || given.includes(`${name}_FILE`), `${service} is given ${name}`)
    }
  }
})

t.test('a new shell has the version and the TLS of the environment file', { skip }, async t => {
  const settings = {
    ...{ EDGE_SITE: '/site', EDGE_CERTIFICATE: '/certificate.pem', EDGE_KEY: '/key.pem', PORT: '80' },
    ...{ VERSION: '9.9.9', COMPOSE_FILE: 'docker-compose.yml:deploy/tls.compose.yml' },
  }
  const readFrom = async (values: Readonly<Record<string, string>>) => {
    const file = join(t.testdir({}), 'env')
    await writeFile(
      file,
      Object.entries(values)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    )
    return readWith({}, '--env-file', file)
  }
  const { services } = await readFrom(settings)
  t.match(services.api.image, /:9\.9\.9$/)
  const ports = services.edge.ports.map((port: string | Record<string, unknown>) =>
    typeof port === 'string' ? port : `${port.published}:${port.target}`,
  )
  t.strictSame(ports.sort(), ['443:8443', '80:8080'], 'plain HTTP is there to redirect')
  for (const missing of ['EDGE_SITE', 'EDGE_CERTIFICATE', 'EDGE_KEY']) {
    await t.rejects(readFrom({ ...settings, [missing]: '' }), missing)
  }
  isSmallTarget(t, { edge: services.edge })
})

t.test('each base image has an exact tag', async t => {
  const dockerfile = await readFile(join(ROOT, 'Dockerfile'), 'utf8')
  const bases = [...dockerfile.matchAll(/^ARG \w+_IMAGE=(.+)$/gm)].map(([, image]) => image)
  t.ok(bases.length > 0)
  for (const base of bases) t.match(base, /:\d+\.\d+\.\d+(-[a-z]+)*(@sha256:[0-9a-f]{64})?$/)
  for (const [, from = ''] of dockerfile.matchAll(/^FROM (\S+)/gm)) {
    t.ok(from.startsWith('${') || dockerfile.includes(` AS ${from}\n`), `${from} is a base above or a stage`)
  }
})
