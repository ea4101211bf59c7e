import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import t from 'tap'

const DIST = fileURLToPath(new URL('../dist/', import.meta.url))
const index = readFileSync(`${DIST}index.html`, 'utf8')

t.test('the first load is at most 15 kB of script, and 75 kB with the chart (gzip)', async t => {
  const scripts = readdirSync(`${DIST}assets`).filter(name => name.endsWith('.js'))
  const size = (names: readonly string[]) =>
    names.reduce((sum, name) => sum + gzipSync(readFileSync(`${DIST}assets/${name}`)).length, 0)
  const first = scripts.filter(name => index.includes(name))
  t.ok(first.length >= 1 && first.length < scripts.length, 'the chart is not part of the first load')
  t.comment(`${size(first)} bytes first, ${size(scripts)} with the chart`)
  t.ok(size(first) <= 15_000, `${size(first)} bytes`)
  t.ok(size(scripts) <= 75_000, `${size(scripts)} bytes`)
})

t.test('the policy refuses everything but this site, and the page needs nothing inline', async t => {
  const [, policy] = /http-equiv="Content-Security-Policy"\s+content="([^"]*)"/.exec(index) ?? []
  t.match(policy, /^default-src 'none';/)
  t.notMatch(policy, /unsafe|https?:|\*/)
  t.notMatch(index, /<script(?![^>]* src=)|<style| style=| on[a-z]+=/)
  t.notMatch(index, /(src|href)="(https?:)?\/\//)
})
