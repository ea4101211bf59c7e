import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync } from 'node:zlib'
import t from 'tap'
import { build } from 'vite'

const PAGE = fileURLToPath(new URL('../', import.meta.url))
const DIST = `${PAGE}dist/`
const index = readFileSync(`${DIST}index.html`, 'utf8')

t.test('script and style of the first load are at most 22 kB, and 75 kB with the chart (Brotli)', async t => {
  const all = assetsNamedFrom(index)
  const size = (names: readonly string[]) =>
    names.reduce((sum, name) => sum + brotliCompressSync(readFileSync(`${DIST}assets/${name}`)).length, 0)
  const named = (...beginnings: string[]) =>
    all.filter(name => beginnings.some(beginning => name.startsWith(`${beginning}-`)))
  const first = all.filter(name => index.includes(name))
  t.equal(first.length, 2, 'one script and one style')
  t.notOk(
    first.some(name => name.startsWith('coin-view')),
    'the chart is not part of the first load',
  )
  for (const [language, ...words] of [['en'], ['ko', 'korean-names']] as const) {
    const bytes = size([...first, ...named(language, ...words)])
    t.comment(`${language}: ${bytes} bytes first`)
    t.ok(bytes <= 22_000, `${language}: ${bytes} bytes`)
  }
  const whole = size([...first, ...named('ko', 'korean-names', 'coin-view')])
  t.comment(`${whole} bytes with the chart`)
  t.ok(whole <= 75_000, `${whole} bytes`)
})

t.test('the policy refuses everything but this site, and the page needs nothing inline', async t => {
  const [, policy] = /http-equiv="Content-Security-Policy"\s+content="([^"]*)"/.exec(index) ?? []
  t.match(policy, /^default-src 'none';/)
  t.notMatch(policy, /unsafe|https?:|\*/)
  t.notMatch(index, /<script(?![^>]* src=)|<style| style=| on[a-z]+=/)
  t.notMatch(index, /(src|href)="(https?:)?\/\//)
})

t.test('a shared link has a title, a description and a picture; everything it names is there', async t => {
  for (const property of ['og:title', 'og:description', 'og:image'])
    t.match(index, new RegExp(`property="${property}" content="[^"]+"`))
  const { icons } = JSON.parse(readFileSync(`${DIST}manifest.webmanifest`, 'utf8'))
  const files = [
    'og.png',
    'apple-touch-icon.png',
    'robots.txt',
    ...icons.map(({ src }: { src: string }) => src.slice(1)),
  ]
  for (const file of files) t.ok(readdirSync(DIST).includes(file), file)
})

t.test(
  'a build that does not know its address has one placeholder for it, for the server in front',
  async t => {
    for (const file of ['index.html', 'reference.html', 'reference.ko.html', 'openapi.json']) {
      const addresses = readFileSync(`${DIST}${file}`, 'utf8').match(
        /https?:\/\/[\w-]+(\.example|\.0\.0\.1)\b/g,
      )
      t.strictSame([...new Set(addresses)], ['https://premium.example'], file)
    }
  },
)

t.test('a build that knows its address names it in the picture and in every example', async t => {
  const outDir = t.testdir()
  process.env.SITE_URL = 'https://mine.example/'
  await build({ root: PAGE, build: { outDir }, logLevel: 'error' })
  const read = (file: string) => readFileSync(`${outDir}/${file}`, 'utf8')
  t.match(read('index.html'), 'content="https://mine.example/og.png"')
  for (const file of ['reference.html', 'reference.ko.html']) {
    t.match(read(file), 'https://mine.example/api/v1/kimchi-premium')
    t.notMatch(read(file), 'premium.example')
  }
  t.match(JSON.parse(read('openapi.json')).servers[0].variables, {
    origin: { default: 'https://mine.example' },
  })
})

/** The files that a text names, and those that they name: an earlier build may have left others beside them. */
function assetsNamedFrom(text: string): string[] {
  const names = readdirSync(`${DIST}assets`)
  const found = new Set<string>()
  for (const texts = [text]; texts.length > 0; ) {
    const next = texts.pop() ?? ''
    for (const name of names.filter(one => next.includes(one) && !found.has(one))) {
      found.add(name)
      texts.push(readFileSync(`${DIST}assets/${name}`, 'utf8'))
    }
  }
  return [...found]
}
