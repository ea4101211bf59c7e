#!/usr/bin/env node
/**
 * Measures forms of answering with ready-made bytes side by side, with tricks and without, and writes a
 * section per version of Node into docs/benchmarks.md.
 *   npm run bench -- forms [--rounds 7] [--seconds 2] [--section 0]
 * Needs wrk.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startContestant } from './lib/contestants.mjs'
import { exchange, own } from './lib/exchange.mjs'
import { stopAll } from './lib/programs.mjs'
import { machine, major, publish, table } from './lib/report.mjs'
import { measureRounds, WARM_UP_S } from './lib/rounds.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '2' },
    section: { type: 'string' },
  },
})
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)]
const PATH = '/api/v1/kimchi-premium'
const BARE = 'bare node:http'
/** Worth this much more CPU per request than the fastest, a form that is simpler wins. */
const WORTH = 1.15

/** What each trick does, in the words of the report. */
const TRICKS = {
  prepared: 'headers made once a second',
  flat: 'these as one flat list',
  latin1: 'small bodies as latin1 strings',
  scan: 'raw headers scanned instead of parsed',
}
const ALL = Object.keys(TRICKS)
/** What the API does. */
const PREPARED = ['prepared', 'flat']
/** What the API was once started with. */
const FLAGS = ['--max-semi-space-size=4', '--no-parallel-scavenge', '--heap-growing-percent=30']
const MALLOC = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '32768' }

const NAMES = {
  plain: 'plain: handler, reply.send',
  handler: 'handler, past reply',
  onRequest: 'onRequest, past all else',
  'fast path': 'fast path before Fastify',
}
const plain = Object.entries(NAMES).map(([form, name]) => ({ name, form, tricks: [] }))
const tricky = Object.keys(NAMES).map(form => ({ name: `${form}, all tricks`, form, tricks: ALL }))
const ready = Object.keys(NAMES).map(form => ({ name: `${form}, headers prepared`, form, tricks: PREPARED }))
const single = Object.entries(TRICKS).map(([trick, what]) => ({
  name: `onRequest, ${what}`,
  form: 'onRequest',
  tricks: [trick],
}))
const onRequest = { name: NAMES.onRequest, form: 'onRequest', tricks: [] }
const flagged = { ...onRequest, name: 'onRequest, V8 flags and malloc settings', flags: FLAGS, env: MALLOC }
const wholeApi = { ...onRequest, name: 'the whole API, from its app on', form: 'app' }

const BROWSER = {
  'Accept-Encoding': 'gzip, deflate, br, zstd',
  'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
  Accept: '*/*',
  'Accept-Language': 'ko,en;q=0.7',
  Origin: 'https://page.example',
  Referer: 'https://page.example/',
  'Sec-Fetch-Mode': 'cors',
  'Sec-Fetch-Site': 'cross-site',
}
/** The simplest form first. Single tricks are tried where they have something to do. */
const SECTIONS = [
  { title: 'Forms of answering', headers: {}, forms: [...plain, ...ready, ...tricky] },
  {
    title: 'Tricks for a browser',
    headers: BROWSER,
    forms: [
      onRequest,
      ...single,
      { ...onRequest, name: 'onRequest, headers prepared', tricks: PREPARED },
      flagged,
      { ...onRequest, name: 'onRequest, all tricks', tricks: ALL },
      wholeApi,
    ],
  },
]
const SIZES = [10, 200]

const dir = mkdtempSync(join(tmpdir(), 'kimchi-bench-forms-'))
try {
  const sections = SECTIONS.filter(
    (_, index) => values.section === undefined || Number(values.section) === index,
  )
  for (const section of sections) {
    const results = []
    for (const coins of SIZES) results.push(await measure(section, coins))
    publish(`${section.title} on Node ${major}`, report(section, results))
  }
} finally {
  await stopAll()
  rmSync(dir, { recursive: true, force: true })
}

/** @param {(typeof SECTIONS)[number]} section @param {number} coins */
async function measure({ headers, forms }, coins) {
  const contestants = []
  for (const { name, form, tricks, flags = [], env = {} } of forms) {
    const options = { coins, form, tricks }
    contestants.push({ name, headers, ...(await startContestant('form', PATH, options, flags, env)) })
  }
  const [first, ...others] = await Promise.all(contestants.map(({ url }) => exchange(url, headers)))
  if (first === undefined) throw new Error('there must be a form')
  const { status, headers: answered, body } = first
  for (const other of others) assert.deepEqual([own(other.headers), other.body], [own(answered), body])
  const bodyFile = join(dir, 'body')
  writeFileSync(bodyFile, body)
  const bare = await startContestant('bare', PATH, { status, headers: own(answered), bodyFile })
  const result = await measureRounds([{ name: BARE, headers, ...bare }, ...contestants], { rounds, seconds })
  await stopAll()
  return result
}

/**
 * @param {(typeof SECTIONS)[number]} section
 * @param {readonly Awaited<ReturnType<typeof measure>>[]} results
 */
function report({ title, forms }, results) {
  const compared = forms.filter(({ form }) => form !== 'app').map(({ name }) => name)
  const fastest = results.map(({ ratio }) =>
    Math.min(...compared.map(name => ratio(name, BARE, 'cpuMicros'))),
  )
  const toFastest = (/** @type {string} */ name) =>
    results.map(({ ratio }, index) => ratio(name, BARE, 'cpuMicros') / Number(fastest[index]))
  const winner = compared.find(name => toFastest(name).every(value => value <= WORTH))
  const rows = [BARE, ...forms.map(({ name }) => name)].map(name => [
    name === winner ? `**${name}**` : name,
    ...results.flatMap(({ of, ratio }, index) => [
      `${of(name, 'cpuMicros').toFixed(1)} µs`,
      ratio(name, BARE, 'cpuMicros').toFixed(2),
      name === BARE ? '' : Number(toFastest(name)[index]).toFixed(2),
    ]),
  ])
  const heads = SIZES.flatMap(coins => [`${coins} coins`, '÷ bare', '÷ fastest'])
  return `## ${title}, Node ${major}

${machine()}. CPU per request of one core, load from another; ${rounds} rounds of ${seconds} s in random order after ${WARM_UP_S} s to warm up. Times are medians; "÷ bare" is the median of the ratios within a round to bare node:http with the same server options, headers and bytes; "÷ fastest" compares that with the fastest form. Every form routes, decides by the API's own rules, counts, and answers the same. The simplest within ${WORTH} of the fastest at 10 and at 200 coins wins, here: **${winner}**.

${table(['form', ...heads], rows)}

Prepared: headers made once a second, as one flat list, which is what the API does. Tricks: ${Object.values(TRICKS).join('; ')}. All remember the spellings of Accept-Encoding. The V8 flags are \`${FLAGS.join(' ')}\`, the malloc settings ${Object.entries(
    MALLOC,
  )
    .map(([name, value]) => `\`${name}=${value}\``)
    .join(
      ' and ',
    )}: what the API was once started with. The whole API also counts Host headers, holds back floods and follows each connection's newest response. A browser sends eight headers and takes br.`
}
