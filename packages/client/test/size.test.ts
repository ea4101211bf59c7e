import { fileURLToPath } from 'node:url'
import t from 'tap'
import { build } from 'vite'

t.test('is at most 4 kB minified, and needs nothing else', async t => {
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      minify: true,
      lib: { entry: fileURLToPath(new URL('../src/index.ts', import.meta.url)), formats: ['es'] },
      rollupOptions: { output: { minify: true } },
    },
  })
  const [result] = [built].flat()
  const chunks = result && 'output' in result ? result.output : []
  const code = chunks.map(chunk => (chunk.type === 'chunk' ? chunk.code : '')).join('')
  t.comment(`${Buffer.byteLength(code)} bytes minified`)
  t.ok(code.length > 500 && Buffer.byteLength(code) <= 4_000, `${Buffer.byteLength(code)} bytes`)
  t.notMatch(code, /import\s*[{"']/, 'imports nothing')
})
