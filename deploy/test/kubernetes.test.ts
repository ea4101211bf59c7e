import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'

const run = promisify(execFile)
const HERE = fileURLToPath(new URL('.', import.meta.url))
const FOLDER = join(HERE, '../kubernetes')
const API = join(FOLDER, 'base/api.yaml')
const SERVES = join(HERE, '../nginx/serves.sh')

interface Container {
  readonly image: string
  readonly imagePullPolicy?: string
  readonly securityContext?: object
  readonly volumeMounts?: readonly object[]
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
  readonly startupProbe?: { readonly periodSeconds: number; readonly failureThreshold: number }
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } }
  readonly resources?: { readonly limits?: { memory?: string }; readonly requests?: { cpu?: string } }
}

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec: {
    readonly egress?: readonly object[]
    readonly template: {
      readonly spec: {
        readonly securityContext?: object
        readonly automountServiceAccountToken?: boolean
        readonly terminationGracePeriodSeconds?: number
        readonly containers: readonly Container[]
        readonly volumes?: readonly object[]
      }
    }
  }
}

async function build(folder: string): Promise<Manifest[]> {
  const { stdout } = await run('kubectl', ['kustomize', folder])
  return parseAllDocuments(stdout).map(document => document.toJS())
}

/** What `kubectl apply -k` would send: the base with these components. */
async function render(...components: readonly string[]): Promise<Manifest[]> {
  const dir = await mkdtemp(join(tmpdir(), 'kimchi-kustomize-'))
  const path = (name: string) => relative(dir, join(FOLDER, name))
  const kustomization = { resources: [path('base')], components: components.map(path) }
  try {
    await writeFile(join(dir, 'kustomization.yaml'), JSON.stringify(kustomization))
    return await build(dir)
  } finally {
    await rm(dir, { recursive: true })
  }
}

const skip = await run('kubectl', ['version', '--client']).then(
  () => false,
  () => 'kubectl is not installed',
)

t.test('the manifests, as far as no cluster tells', { skip }, async t => {
  const manifests = await render()
  const workloads = manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')

  await t.test('everything is in the one namespace', async t => {
    const namespaces = manifests
      .filter(({ kind }) => kind !== 'Namespace')
      .map(({ metadata }) => metadata.namespace)
    t.strictSame(new Set(namespaces), new Set(['kimchi-premium']))
  })

  await t.test('with monitoring there are the same rules as with compose', async t => {
    const { spec } = parse((await run(join(FOLDER, 'monitoring/rules.sh'))).stdout)
    t.strictSame(spec, parse(await readFile(new URL('../prometheus/rules.yml', import.meta.url), 'utf8')))
    const kinds = (await render('monitoring')).map(({ kind }) => kind)
    t.ok(kinds.includes('PodMonitor') && kinds.includes('Probe'))
  })

  await t.test('with an external Redis ours is left out, and the apps may reach it', async t => {
    const external = await render('external-redis')
    t.strictSame(
      external.filter(({ metadata }) => metadata.name.startsWith('redis')),
      [],
    )
    for (const name of ['api', 'ingester']) {
      const policy = external.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === name)
      t.strictSame(policy?.spec.egress?.at(-1), { ports: [{ port: 6379 }] }, name)
    }
  })

  await t.test('with the authority of a proxy that opens TLS the ingesters trust it', async t => {
    const ingester = (await render('extra-ca')).find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'ingester',
    )
    const { containers, volumes } = ingester?.spec.template.spec ?? {}
    t.match(containers?.[0]?.env?.at(-1), { name: 'NODE_EXTRA_CA_CERTS', value: '/run/extra-ca/ca.pem' })
    t.match(containers?.[0]?.volumeMounts?.at(-1), { name: 'extra-ca', mountPath: '/run/extra-ca' })
    t.strictSame(volumes?.at(-1), { name: 'extra-ca', configMap: { name: 'extra-ca' } })
  })

  await t.test('the demo of a test cluster has the simulator, and no other prices', async t => {
    const ingester = (await build(join(FOLDER, 'demo'))).find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'ingester',
    )
    const { env = [] } = ingester?.spec.template.spec.containers[0] ?? {}
    t.match(env.find(({ name }) => name === 'PRICES')?.value, 'simulated')
    t.equal(env.filter(({ value }) => value?.includes('//simulator:8000')).length, 4)
  })

  // docs/faults.md, 36
  await t.test('every container has as few rights as possible', async t => {
    for (const { metadata, spec } of workloads) {
      const { name } = metadata
      const { securityContext, automountServiceAccountToken, containers } = spec.template.spec
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
        const { limits, requests } = container.resources ?? {}
        t.ok(limits?.memory && requests?.cpu, `${name} says what it needs`)
      }
    }
    t.notMatch(JSON.stringify(manifests), /redis:\/\/[^"]*:[^"]*@/, 'no password is in a manifest')
  })

  // docs/faults.md, 122
  await t.test('a replica outlives the caches of its name, and no edge is killed for waiting', async t => {
    const podOf = (app: string) => workloads.find(({ metadata }) => metadata.name === app)?.spec.template.spec
    const api = podOf('api')
    const seconds = api?.containers[0]?.lifecycle?.preStop.sleep.seconds ?? 0
    const [, kept = ''] = /keep the address for (\d+) s/.exec(await readFile(API, 'utf8')) ?? []
    t.ok(Number(kept) > 0 && seconds > Number(kept) + 2, 'the edge asks every 2 s')
    t.ok((api?.terminationGracePeriodSeconds ?? 0) > seconds + 10, 'and it ends in order')
    const { periodSeconds = 0, failureThreshold = 0 } = podOf('edge')?.containers[0]?.startupProbe ?? {}
    const [, waits = ''] = /-gt (\d+) \]/.exec(await readFile(SERVES, 'utf8')) ?? []
    t.ok(Number(waits) > 0 && periodSeconds * failureThreshold > 2 * Number(waits))
  })

  await t.test('no image of ours can be pulled before an overlay names a registry', async t => {
    const compose = await readFile(new URL('../../docker-compose.yml', import.meta.url), 'utf8')
    const containers = workloads.flatMap(({ spec }) => spec.template.spec.containers)
    for (const { image, imagePullPolicy } of containers) {
      t.equal(imagePullPolicy, 'IfNotPresent', image)
      const [, name, tag] = /^registry\.invalid\/(kimchi-premium.*):(.*)$/.exec(image) ?? []
      const wanted = name === undefined ? image : `${name}:\${VERSION:-${tag}}`
      t.ok(compose.includes(`image: ${wanted}\n`), `${image} is in docker-compose.yml`)
    }
  })
})
