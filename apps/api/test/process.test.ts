import { readFileSync } from 'node:fs'
import t from 'tap'

const settings = new URL('../../../scripts/api-process.mjs', import.meta.url)
const { API_FLAGS, API_MALLOC } = await import(settings.href)
const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const malloc = Object.entries(API_MALLOC).map(([name, value]) => `${name}=${value}`)

t.test('`npm start` of the API uses the flags and the allocator of the demo and the benchmark', async t => {
  const { start } = JSON.parse(read('../package.json')).scripts
  t.equal(start, [...malloc, 'exec node --enable-source-maps', ...API_FLAGS, 'dist/main.js'].join(' '))
})

t.test('so does the image', async t => {
  const [, image] = read('../../../Dockerfile').split('FROM runtime AS api')
  const command = ['node', '--enable-source-maps', ...API_FLAGS, 'apps/api/dist/main.js']
  t.match(image, `ENV ${malloc.join(' ')}\n`)
  t.match(image, `CMD [${command.map(word => `"${word}"`).join(', ')}]`)
})
