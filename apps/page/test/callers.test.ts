import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import vm from 'node:vm'
import { listen } from '@kimchi/testkit'
import { marked } from 'marked'
import t, { type Test } from 'tap'
import { startStack } from './stack.ts'

/** A piece of code in the guide: its language, and what makes it special. */
interface Snippet {
  readonly language: string
  readonly kind: string
  readonly code: string
}

const SNIPPETS_AT_A_TIME = 3
const PLACEHOLDER = 'https://premium.example'
const BANK = 'https://api.frankfurter.dev'
const snippets = readSnippets('callers.md')

t.test('the code in the Korean guide is that of the English one, but for its comments', async t => {
  const withoutComments = (snippet: Snippet) => ({
    ...snippet,
    code: snippet.code.replace(/^\s*\/\/.*$/gm, '//'),
  })
  const korean = readSnippets('callers.ko.md').map(withoutComments)
  const isKorean = ({ kind }: Snippet) => kind !== 'bank' && kind !== 'pandas' && kind !== 'sheets'
  t.strictSame(korean, snippets.filter(isKorean).map(withoutComments))
})

t.test('every piece of code in the guide runs against the service', async t => {
  const { api } = await startStack(t)
  const bank = await startBank(t)
  t.jobs = SNIPPETS_AT_A_TIME
  await Promise.all(
    snippets.map(async ({ language, kind, code }) => {
      const here = code.replaceAll(PLACEHOLDER, api).replaceAll(BANK, bank)
      t.equal(here === code, language === 'json', 'all but an answer ask the service')
      const test = (options: { skip?: string }, run: (t: Test) => Promise<void>) =>
        t.test(`${language} ${kind}`, { buffered: true, ...options }, run)
      if (language === 'json') await test({}, t => answer(t, code, kind, api))
      else if (language === 'sh') await test(missing('curl'), t => shell(t, here, kind))
      else if (kind === 'sheets') await test(missing('curl'), t => sheets(t, here))
      else if (language === 'js') await test({}, t => javascript(t, here, kind))
      else if (language === 'python') await test(await missingModule(kind), t => python(t, here, kind))
      else t.fail(`${language} is a language that is not run`)
    }),
  )
  t.ok(snippets.length >= 10, `${snippets.length} pieces`)
})

/** Plays the rate service of the guide, with the answer of its document. */
async function startBank(t: Test): Promise<string> {
  const server = createServer((request, response) => {
    t.equal(request.url, '/v1/latest?base=USD&symbols=KRW')
    response.end('{"amount":1.0,"base":"USD","date":"2026-11-20","rates":{"KRW":1380}}')
  })
  return `http://127.0.0.1:${await listen(t, server)}`
}

/** An answer in the guide has the fields of the service's own, and no other. */
async function answer(t: Test, text: string, kind: string, api: string) {
  const path = { list: '', daily: '/BTC/daily' }[kind]
  const own = await (await fetch(`${api}/api/v1/kimchi-premium${path}`)).json()
  const shown = JSON.parse(text)
  t.strictSame(Object.keys(shown), Object.keys(own))
  t.strictSame(Object.keys(shown.data[0]), Object.keys(own.data[0]))
  t.equal(shown.count, shown.data.length)
}

async function shell(t: Test, code: string, kind: string) {
  const { output, errors } = await run('sh', ['-ec', code])
  t.equal(errors, '')
  if (kind === '304') t.match(output, /^(304|200)\n$/, 'the minute may turn between the two questions')
  else
    for (const answer of output.replaceAll('}{', '}\n{').split('\n'))
      t.match(JSON.parse(answer), { result: 'ok' })
}

async function javascript(t: Test, code: string, kind: string) {
  const { output, errors } = await run('node', ['--input-type=module', '-e', code], {
    stopAtLine: kind === 'loop',
  })
  t.equal(errors, '')
  if (kind === 'bank') return checkBank(t, output)
  t.match(output, kind === 'loop' ? /^\d{4}-\d\d-\d\dT\d\d:\d\d:00 10 coins\n/ : /:00 BTC -?\d/)
}

/** USDT at 1,400 won is 1.449 % above the bank's 1,380. */
function checkBank(t: Test, output: string) {
  for (const line of output.trim().split('\n')) {
    const [symbol = '', ours, banks] = line.split(' ')
    t.equal(banks, ((100 + Number(ours)) * (1_400 / 1_380) - 100).toFixed(2), symbol)
  }
}

async function python(t: Test, code: string, module: string) {
  const { output, errors } = await run(await pythonWith(module), ['-c', code])
  t.equal(errors, '')
  t.match(output, /BTC -?\d|close_pct/)
}

/** Google's runtime is not here; the services that the recipe uses are played. */
async function sheets(t: Test, code: string) {
  const [url = ''] = /http[^']*/.exec(code) ?? []
  const { output: text } = await run('curl', ['-s', url])
  const asked: string[] = []
  let written: unknown[][] = []
  const sheet = {
    clearContents: () => {},
    getRange: (_row: number, _column: number, rows: number, columns: number) => ({
      setValues: (values: unknown[][]) => {
        written = values
        t.strictSame([values.length, values[0]?.length], [rows, columns], 'a range of just this size')
      },
    }),
  }
  const context = {
    UrlFetchApp: {
      fetch: (url: string) => {
        asked.push(url)
        return { getContentText: () => text }
      },
    },
    SpreadsheetApp: { getActive: () => ({ getSheetByName: () => null, insertSheet: () => sheet }) },
  }
  vm.runInNewContext(`${code}; writePremiums()`, context)
  t.strictSame(asked, [url])
  t.equal(written.length, 11)
  t.equal(typeof written[1]?.[1], 'number')
}

/** Runs a program to its end, or to its first line. */
function run(program: string, args: readonly string[], { stopAtLine = false } = {}) {
  return new Promise<{ output: string; errors: string }>((resolve, reject) => {
    const { PATH = '', HOME = '' } = process.env
    const child = spawn(program, args, { env: { PATH, HOME }, stdio: ['ignore', 'pipe', 'pipe'] })
    let [output, errors] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (stopAtLine && output.includes('\n')) child.kill()
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text
    })
    child.once('error', reject)
    child.once('close', code =>
      code === 0 || stopAtLine
        ? resolve({ output, errors })
        : reject(new Error(`${program} ${code}: ${errors}`)),
    )
  })
}

/** A system has often more than one Python; only one may have the module. To import it takes a second or two. */
async function pythonWith(module: string): Promise<string> {
  const look = `import importlib.util, sys; sys.exit(importlib.util.find_spec('${module}') is None)`
  for (const program of ['python3', '/usr/bin/python3']) {
    const found = await run(program, ['-c', look]).catch(() => undefined)
    if (found) return program
  }
  return ''
}

async function missingModule(module: string) {
  return (await pythonWith(module)) ? {} : { skip: `no Python with ${module}` }
}

function missing(program: string) {
  const folders = (process.env.PATH ?? '').split(':')
  return folders.some(folder => existsSync(`${folder}/${program}`)) ? {} : { skip: `no ${program} on PATH` }
}

function readSnippets(file: string): Snippet[] {
  const text = readFileSync(fileURLToPath(new URL(`../../../docs/${file}`, import.meta.url)), 'utf8')
  return marked.lexer(text).flatMap(token => {
    if (token.type !== 'code') return []
    const [language = '', kind = ''] = (token.lang ?? '').split(' ')
    // Text is what a reader types in a clone of this repository.
    return language === 'text' ? [] : [{ language, kind, code: token.text }]
  })
}
