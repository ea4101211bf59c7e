import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Deployment, StatefulSet } from 'kubernetes-types/apps/v1.js'
import type { PodSpec } from 'kubernetes-types/core/v1.js'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'

const run = promisify(execFile)
const HERE = fileURLToPath(new URL('.', import.meta.url))
const FOLDER = join(HERE, '../kubernetes')

/** The type of each kind. The operator's own, as far as we use them. */
const TYPES: Readonly<Record<string, string>> = {
  'v1 ConfigMap': "import('kubernetes-types/core/v1.js').ConfigMap",
  'v1 Namespace': "import('kubernetes-types/core/v1.js').Namespace",
  'v1 Service': "import('kubernetes-types/core/v1.js').Service",
  'apps/v1 Deployment': "import('kubernetes-types/apps/v1.js').Deployment",
  'apps/v1 StatefulSet': "import('kubernetes-types/apps/v1.js').StatefulSet",
  'networking.k8s.io/v1 NetworkPolicy': "import('kubernetes-types/networking/v1.js').NetworkPolicy",
  'policy/v1 PodDisruptionBudget': "import('kubernetes-types/policy/v1.js').PodDisruptionBudget",
  'monitoring.coreos.com/v1 PodMonitor': "import('../monitoring.ts').PodMonitor",
  'monitoring.coreos.com/v1 Probe': "import('../monitoring.ts').Probe",
  'monitoring.coreos.com/v1 PrometheusRule': "import('../monitoring.ts').PrometheusRule",
}

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

/** What `kubectl apply -k` would send: the base with these components. */
async function render(...components: readonly string[]): Promise<Manifest[]> {
  const dir = await mkdtemp(join(tmpdir(), 'kimchi-kustomize-'))
  const path = (name: string) => relative(dir, join(FOLDER, name))
  const kustomization = { resources: [path('base')], components: components.map(path) }
  try {
    await writeFile(join(dir, 'kustomization.yaml'), JSON.stringify(kustomization))
    const { stdout } = await run('kubectl', ['kustomize', dir])
    return parseAllDocuments(stdout).map(document => document.toJS())
  } finally {
    await rm(dir, { recursive: true })
  }
}

const skip = await run('kubectl', ['version', '--client']).then(
  () => false,
  () => 'kubectl is not installed',
)

/** The compiler's complaints about these manifests, each checked against the type of its kind. */
async function complaints(manifests: readonly Manifest[]): Promise<string[]> {
  const lines = manifests.map(manifest => {
    const { apiVersion, kind } = manifest
    const type = TYPES[`${apiVersion} ${kind}`]
    if (type === undefined) throw new Error(`${apiVersion} ${kind} needs a line in TYPES`)
    return `;(${JSON.stringify(manifest)}) satisfies ${type}`
  })
  // Beside this file, where the types are found.
  const dir = await mkdtemp(join(HERE, '.manifests-'))
  try {
    await writeFile(join(dir, 'manifests.ts'), `export {}\n${lines.join('\n')}\n`)
    const options = { extends: '../tsconfig.json', include: ['manifests.ts'] }
    await writeFile(join(dir, 'tsconfig.json'), JSON.stringify(options))
    const { stdout } = await run('npx', ['tsc', '-p', dir]).catch(error => error)
    return String(stdout)
      .split('\n')
      .filter(line => line.includes('error'))
  } finally {
    await rm(dir, { recursive: true })
  }
}

t.test('the manifests', { skip }, async t => {
  const manifests = await render()
  const external = await render('external-redis', 'monitoring')
  const { stdout } = await run('kubectl', ['kustomize', join(FOLDER, 'demo')])
  const demo: Manifest[] = parseAllDocuments(stdout).map(document => document.toJS())
  const rules = parse((await run(join(FOLDER, 'monitoring/rules.sh'))).stdout)
  const of = <T extends Manifest>(kind: string) =>
    manifests.filter(manifest => manifest.kind === kind) as unknown as T[]
  type Workload = (Deployment | StatefulSet) & Manifest
  const workloads = [...of<Workload>('Deployment'), ...of<Workload>('StatefulSet')]
  const podOf = (workload: Workload) => workload.spec?.template.spec as PodSpec

  await t.test('each manifest has the fields of its kind, and no other', async t => {
    const variants = [...(await render('monitoring')), ...external, ...demo]
    const [api] = of<Deployment & Manifest>('Deployment').filter(({ metadata }) => metadata.name === 'api')
    const misspelt = JSON.parse(
      JSON.stringify(api).replace('"readOnlyRootFilesystem"', '"readonlyRootFilesystem"'),
    )
    const found = await complaints([...manifests, ...variants, rules, misspelt])
    t.match(found, [/readonlyRootFilesystem/], 'a misspelt field is noticed')
    t.strictSame(found.slice(1), [])
  })

  await t.test('everything is in the one namespace', async t => {
    const namespaces = manifests
      .filter(({ kind }) => kind !== 'Namespace')
      .map(({ metadata }) => metadata.namespace)
    t.strictSame(new Set(namespaces), new Set(['kimchi-premium']))
  })

  await t.test('with monitoring there are the same rules as with compose', async t => {
    t.strictSame(
      rules.spec,
      parse(await readFile(new URL('../prometheus/rules.yml', import.meta.url), 'utf8')),
    )
  })

  await t.test('with an external Redis ours is left out, and the apps may reach it', async t => {
    t.strictSame(
      external.filter(({ metadata }) => metadata.name === 'redis'),
      [],
    )
    for (const name of ['api', 'ingester']) {
      const policy = external.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === name)
      const { egress } = (policy as Manifest & { spec: { egress: object[] } }).spec
      t.strictSame(egress.at(-1), { ports: [{ port: 6379 }] }, name)
    }
  })

  await t.test('the demo of a test cluster has the simulator, and no other prices', async t => {
    const ingester = demo.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'ingester')
    const { env = [] } = podOf(ingester as Workload).containers[0] ?? {}
    t.match(env.find(({ name }) => name === 'PRICES')?.value, 'simulated')
    t.equal(env.filter(({ value }) => value?.includes('//simulator:8000')).length, 4)
  })

  await t.test('an ingester is replaced when its successor contributes', async t => {
    const [ingester] = of<Workload>('Deployment').filter(({ metadata }) => metadata.name === 'ingester')
    t.match(ingester?.spec, { minReadySeconds: 90, strategy: { rollingUpdate: { maxUnavailable: 0 } } })
    t.match(podOf(ingester as Workload).containers[0]?.readinessProbe, { httpGet: { path: '/ready' } })
    t.notMatch(JSON.stringify(manifests), /DoNotSchedule/, 'nodes without a zone can have it')
  })

  // docs/faults.md, 36
  await t.test('every container has as few rights as possible', async t => {
    for (const workload of workloads) {
      const { name } = workload.metadata
      const { securityContext, automountServiceAccountToken, containers } = podOf(workload)
      t.match(
        securityContext,
        { runAsNonRoot: true, runAsUser: Number, seccompProfile: { type: 'RuntimeDefault' } },
        name,
      )
      t.equal(automountServiceAccountToken, false, name)
      for (const container of containers) {
        t.strictSame(
          container.securityContext,
          { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
          name,
        )
        t.ok(
          container.resources?.limits?.memory && container.resources.requests?.cpu,
          `${name} says what it needs`,
        )
      }
    }
  })

  await t.test('each app is its own user of Redis, by a file that no other pod has', async t => {
    const users = await readFile(new URL('../redis/users.acl', import.meta.url), 'utf8')
    for (const name of ['api', 'ingester']) {
      const {
        containers,
        volumes = [],
        securityContext,
      } = podOf(workloads.find(({ metadata }) => metadata.name === name) as Workload)
      t.match(users, new RegExp(`^user ${name} on `, 'm'))
      t.strictSame(containers[0]?.env, [{ name: 'REDIS_URL_FILE', value: '/run/secrets/redis/url' }])
      t.match(containers[0]?.volumeMounts, [{ mountPath: '/run/secrets/redis', readOnly: true }])
      t.match(volumes, [{ secret: { defaultMode: 0o440, items: [{ key: `${name}-url`, path: 'url' }] } }])
      t.equal(securityContext?.fsGroup, securityContext?.runAsUser, 'its user may read it')
    }
    t.notMatch(JSON.stringify(manifests), /redis:\/\/[^"]*:[^"]*@/, 'no password is in a manifest')
  })

  await t.test(
    'pods that answer requests are replaced one by one, after their clients have been moved away',
    async t => {
      for (const name of ['api', 'edge']) {
        const workload = workloads.find(({ metadata }) => metadata.name === name) as Deployment & Workload
        t.match(workload.spec?.strategy, { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }, name)
        const [container] = podOf(workload).containers
        t.match(container, { lifecycle: { preStop: { sleep: { seconds: Number } } } })
        t.match(container?.livenessProbe, { httpGet: { path: '/live', port: 'ops' } })
      }
      const api = workloads.find(({ metadata }) => metadata.name === 'api') as Workload
      t.match(podOf(api).containers[0]?.readinessProbe, { httpGet: { path: '/serving', port: 'ops' } })
    },
  )

  await t.test('services, budgets, policies and spreads select pods that exist', async t => {
    const names = new Set(workloads.map(({ metadata }) => metadata.name))
    const label = 'app.kubernetes.io/name'
    for (const manifest of manifests) {
      for (const [, name] of JSON.stringify(manifest).matchAll(/"app.kubernetes.io\/name":"([^"]+)"/g)) {
        t.ok(names.has(String(name)), `${manifest.kind} ${manifest.metadata.name} means ${name}`)
      }
    }
    for (const workload of workloads) {
      const { selector, template } = workload.spec as NonNullable<Workload['spec']>
      t.equal(template.metadata?.labels?.[label], workload.metadata.name)
      t.equal(selector.matchLabels?.[label], workload.metadata.name)
      t.ok(
        of<Manifest>('NetworkPolicy').some(({ metadata }) => metadata.name === workload.metadata.name),
        `${workload.metadata.name} has a network policy`,
      )
    }
  })

  await t.test('images are the same by compose and by Kubernetes, and none without an exact tag', async t => {
    const compose = await readFile(new URL('../../docker-compose.yml', import.meta.url), 'utf8')
    for (const workload of workloads) {
      for (const { image = '' } of podOf(workload).containers) {
        const [, name, tag] = /^(kimchi-premium.*):(.*)$/.exec(image) ?? []
        const wanted = name === undefined ? image : `${name}:\${VERSION:-${tag}}`
        t.ok(compose.includes(`image: ${wanted}\n`), `${image} is in docker-compose.yml`)
        t.match(image, /:\d+\.\d+\.\d+(@sha256:[0-9a-f]{64})?$/)
      }
    }
  })
})
