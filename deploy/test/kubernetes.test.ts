import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Deployment, StatefulSet } from 'kubernetes-types/apps/v1.js'
import type { PodSpec } from 'kubernetes-types/core/v1.js'
import t from 'tap'
import ts from 'typescript-6'
import { parse, parseAllDocuments } from 'yaml'

const FOLDER = fileURLToPath(new URL('../kubernetes', import.meta.url))

/** Where kubernetes-types has the type of a kind. */
const MODULES: Readonly<Record<string, string>> = {
  'v1 Namespace': 'core/v1',
  'v1 Service': 'core/v1',
  'apps/v1 Deployment': 'apps/v1',
  'apps/v1 StatefulSet': 'apps/v1',
  'autoscaling/v2 HorizontalPodAutoscaler': 'autoscaling/v2',
  'networking.k8s.io/v1 NetworkPolicy': 'networking/v1',
  'policy/v1 PodDisruptionBudget': 'policy/v1',
}

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
}

async function readManifests(): Promise<Manifest[]> {
  const { resources } = parse(await readFile(join(FOLDER, 'kustomization.yaml'), 'utf8'))
  const texts = await Promise.all(resources.map((name: string) => readFile(join(FOLDER, name), 'utf8')))
  return texts.flatMap(text => parseAllDocuments(text).map(document => document.toJS()))
}

/** What the compiler has against these manifests, each held to the type of its kind. */
function complaints(manifests: readonly Manifest[]): string[] {
  const lines = manifests.map(manifest => {
    const { apiVersion, kind } = manifest
    const module = MODULES[`${apiVersion} ${kind}`]
    if (module === undefined) throw new Error(`${apiVersion} ${kind} needs a line in MODULES`)
    return `;(${JSON.stringify(manifest)}) satisfies import('kubernetes-types/${module}.js').${kind}`
  })
  // Beside this file, where the types are found; in memory only.
  const file = fileURLToPath(new URL('manifests.mts', import.meta.url))
  const options = {
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    module: ts.ModuleKind.NodeNext,
    types: [],
  }
  const host = ts.createCompilerHost(options)
  const readFromDisk = host.getSourceFile
  host.getSourceFile = (name, version, onError) =>
    name === file
      ? ts.createSourceFile(name, lines.join('\n'), version)
      : readFromDisk(name, version, onError)
  const program = ts.createProgram([file], options, host)
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
}

const manifests = await readManifests()
const of = <T extends Manifest>(kind: string) =>
  manifests.filter(manifest => manifest.kind === kind) as unknown as T[]
type Workload = (Deployment | StatefulSet) & Manifest
const workloads = [...of<Workload>('Deployment'), ...of<Workload>('StatefulSet')]
const podOf = (workload: Workload) => workload.spec?.template.spec as PodSpec

t.test('each manifest has the fields of its kind, and no other', async t => {
  t.strictSame(complaints(manifests), [])
  const [api] = of<Deployment & Manifest>('Deployment').filter(({ metadata }) => metadata.name === 'api')
  const misspelt = JSON.parse(
    JSON.stringify(api).replace('"readOnlyRootFilesystem"', '"readonlyRootFilesystem"'),
  )
  t.match(complaints([misspelt]), [/readonlyRootFilesystem/], 'a misspelt field is noticed')
})

t.test('kustomization names every file', async t => {
  const { resources } = parse(await readFile(join(FOLDER, 'kustomization.yaml'), 'utf8'))
  const files = (await readdir(FOLDER)).filter(
    name => name.endsWith('.yaml') && name !== 'kustomization.yaml',
  )
  t.strictSame([...resources].sort(), files.sort())
})

t.test('every container is as small a target as can be', async t => {
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

t.test('each app is a user of Redis of its own, told by a file that no other pod has', async t => {
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

t.test('what answers requests is replaced one by one, after those who send have been told', async t => {
  for (const name of ['api', 'edge']) {
    const workload = workloads.find(({ metadata }) => metadata.name === name) as Deployment & Workload
    t.match(workload.spec?.strategy, { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }, name)
    const [container] = podOf(workload).containers
    t.match(container, { lifecycle: { preStop: { sleep: { seconds: Number } } } })
    t.match(container?.livenessProbe, { httpGet: { path: '/live', port: 'ops' } })
  }
  const api = workloads.find(({ metadata }) => metadata.name === 'api') as Workload
  t.match(podOf(api).containers[0]?.readinessProbe, { httpGet: { path: '/serving', port: 'ops' } })
})

t.test('services, budgets, autoscalers, policies and spreads mean pods that are there', async t => {
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

t.test('images are the same by compose and by Kubernetes, and none without an exact tag', async t => {
  const compose = await readFile(new URL('../../docker-compose.yml', import.meta.url), 'utf8')
  const { images } = parse(await readFile(join(FOLDER, 'kustomization.yaml'), 'utf8'))
  for (const workload of workloads) {
    for (const { image = '' } of podOf(workload).containers) {
      const tag = images.find(({ name }: { name: string }) => name === image)?.newTag
      const wanted = tag === undefined ? image : `${image}:\${VERSION:-${tag}}`
      t.ok(compose.includes(`image: ${wanted}\n`), `${image} is in docker-compose.yml`)
      t.match(tag ?? image, /\d+\.\d+\.\d+(@sha256:[0-9a-f]{64})?$/)
    }
  }
})
