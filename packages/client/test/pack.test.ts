import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { listen } from '@kimchi/testkit'
import { publint } from 'publint'
import t from 'tap'

const run = promisify(execFile)
const HERE = fileURLToPath(new URL('..', import.meta.url))

t.test('a packed copy is installed into an empty project, typed, and used from there', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'kimchi-client-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const packed = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: HERE })
  const [{ filename, files }] = JSON.parse(packed.stdout)
  const paths: string[] = files.map(({ path }: { path: string }) => path)
  t.ok(['LICENSE', 'README.md', 'package.json'].every(path => paths.includes(path)))
  t.ok(paths.filter(path => path.includes('/')).every(path => /^dist\/[\w-]+(\.d\.ts|\.js)$/.test(path)))

  const tarball = await readFile(join(folder, filename))
  const types = await checkPackage(createPackageFromTarballData(tarball))
  const problems =
    types.types &&
    types.problems.map(({ kind, ...at }) => [kind, 'resolutionKind' in at && at.resolutionKind])
  t.strictSame(
    problems,
    [['CJSResolvesToESM', 'node16-cjs']],
    'it is no CommonJS, and attw finds nothing else',
  )

  const readme = await readFile(join(HERE, 'README.md'), 'utf8')
  t.strictSame(
    readme.match(/\]\((?!https:|#)[^)]*/g),
    null,
    'a registry has nothing that a relative link could name',
  )

  const list = { result: 'ok', updated_at: '2026-11-20T13:05:00', count: 0, note: '', data: [] }
  const server = createServer((_request, response) => response.end(JSON.stringify(list)))
  const baseUrl = `http://127.0.0.1:${await listen(t, server)}/api/v1`
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(
    join(folder, 'use.ts'),
    `import { createClient, type LiveList } from '@kimchi/client'
     const list: LiveList = await createClient({ baseUrl: '${baseUrl}' }).live()
     console.log(list.updated_at)`,
  )
  const commonJs = /^```js\n(.*?)^```/ms.exec(readme)?.[1] ?? ''
  await writeFile(join(folder, 'use.cjs'), commonJs.replace(/https:[^']+/, baseUrl))
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', filename], { cwd: folder })
  const tsc = [
    '--ignoreConfig',
    '--module',
    'nodenext',
    '--target',
    'es2023',
    '--lib',
    'es2023,dom',
    '--strict',
    '--types',
    '',
  ]
  await run('npx', ['--no-install', 'tsc', ...tsc, '--outDir', folder, join(folder, 'use.ts')], { cwd: HERE })
  const used = await run(process.execPath, ['use.js'], { cwd: folder })
  t.equal(used.stdout, `${list.updated_at}\n`)
  const installed = join(folder, 'node_modules/@kimchi/client')
  t.strictSame((await publint({ pkgDir: installed, pack: false })).messages, [], 'publint finds nothing')
  for (const path of paths) {
    t.notMatch(await readFile(join(installed, path), 'utf8'), /sourceMappingURL/, `${path} names no map`)
  }
  const fromCommonJs = await run(process.execPath, ['use.cjs'], { cwd: folder })
  t.equal(fromCommonJs.stdout, used.stdout, 'the README’s lines for CommonJS')
  await run(process.execPath, ['-e', "new (require('@kimchi/client').ApiError)('', {})"], { cwd: folder })
})
