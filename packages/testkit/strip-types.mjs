import { readFile } from 'node:fs/promises'
import { register } from 'node:module'
import { fileURLToPath } from 'node:url'
import { isMainThread } from 'node:worker_threads'

/** Lets a Node that can't do so by itself run the tests' TypeScript; `.taprc` starts them with it. */
if (isMainThread && !process.features.typescript) {
  // Each module that is imported later goes through the thread of the hooks, which is slow; tap has hundreds.
  await import('tap')
  register(import.meta.url)
}

const OPTIONS = {
  swcrc: false,
  sourceMaps: 'inline',
  jsc: { minify: { format: { comments: false } }, parser: { syntax: 'typescript' }, target: 'es2023' },
}

/** @public Called by Node. @see https://nodejs.org/docs/latest-v20.x/api/module.html#customization-hooks */
export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context)
  const { transform } = await import('@swc/core')
  const filename = fileURLToPath(url)
  const { code } = await transform(await readFile(filename, 'utf8'), { ...OPTIONS, filename })
  return { format: 'module', source: code, shortCircuit: true }
}
