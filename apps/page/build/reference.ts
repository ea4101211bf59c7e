import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Marked } from 'marked'
import type { Plugin } from 'vite'
import { type OpenApi, routesOf } from './openapi.ts'
import { english, korean, type ReferenceWords } from './words.ts'

/** A page that is made from a document. */
interface ReferencePage {
  readonly file: string
  readonly source: string
  readonly language: string
  readonly title: string
  /** Heading of the routes; without one the page has none. */
  readonly routes?: string
}

const PAGES: readonly ReferencePage[] = [
  {
    file: 'reference.html',
    source: 'docs/callers.md',
    language: 'en',
    title: 'Calling the API · Kimchi premium',
    routes: 'Reference',
  },
  {
    file: 'reference.ko.html',
    source: 'docs/callers.ko.md',
    language: 'ko',
    title: 'API 사용 안내 · 김치 프리미엄',
    routes: '상세',
  },
  { file: 'changelog.html', source: 'CHANGELOG.md', language: 'en', title: 'Changelog · Kimchi premium' },
]

/** Where the documents' links lead on the site. */
const LINKS: Readonly<Record<string, string>> = {
  'callers.md': '/reference.html',
  'callers.ko.md': '/reference.ko.html',
  'openapi.json': '/openapi.json',
  '../CHANGELOG.md': '/changelog.html',
}

/**
 * Adds the guide for callers with the reference, in both languages, the changelog and the OpenAPI document to
 * the site.
 */
export function reference(root: string): Plugin {
  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  return {
    name: 'reference',
    apply: 'build',
    generateBundle() {
      const openapi = read('docs/openapi.json')
      const document = JSON.parse(openapi) as OpenApi
      for (const page of PAGES) {
        const routes = routesOf(document, wordsOf(page))
        const text = page.routes ? `${read(page.source)}\n## ${page.routes}\n\n${routes}` : read(page.source)
        this.emitFile({ type: 'asset', fileName: page.file, source: render(page, text) })
      }
      this.emitFile({ type: 'asset', fileName: 'openapi.json', source: openapi })
    },
  }
}

function wordsOf({ language }: ReferencePage): ReferenceWords {
  return language === 'ko' ? korean : english
}

/** Markdown as a page without scripts, under a policy as strict as that of the page itself. */
function render(page: ReferencePage, markdown: string): string {
  const { language, title } = page
  const headings: Heading[] = []
  const html = markdownOf(headings).parse(markdown, { async: false })
  const contents = page.routes ? contentsOf(headings, wordsOf(page).contents) : ''
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/reference.css">
</head>
<body>
<header><a href="/">← ${language === 'ko' ? '김치 프리미엄' : 'Kimchi premium'}</a></header>
<main>
${html.replace('</h1>', `</h1>\n${contents}`)}</main>
</body>
</html>
`
}

interface Heading {
  readonly id: string
  readonly depth: number
  readonly html: string
}

/** Links to the headings below the title. */
function contentsOf(headings: readonly Heading[], title: string): string {
  const items = headings
    .filter(({ depth }) => depth === 2 || depth === 3)
    .map(({ id, depth, html }) => `<li class="depth-${depth}"><a href="#${id}">${html}</a></li>`)
  return `<nav aria-label="${title}"><ul>${items.join('')}</ul></nav>`
}

/** Wide things scroll by themselves, by keyboard too; every heading can be linked to. */
function markdownOf(headings: Heading[]): Marked {
  return new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const html = this.parser.parseInline(tokens)
        const id = text
          .toLowerCase()
          .replace(/[^\p{L}\p{N}]+/gu, '-')
          .replace(/^-|-$/g, '')
        headings.push({ id, depth, html })
        return `<h${depth} id="${id}">${html}</h${depth}>\n`
      },
      code: ({ text, lang = '' }) =>
        `<pre tabindex="0" data-language="${lang.split(' ')[0]}"><code>${escapeHtml(text)}\n</code></pre>\n`,
    },
    walkTokens: token => {
      if (token.type === 'link') token.href = LINKS[token.href] ?? token.href
    },
    hooks: {
      postprocess: html =>
        html
          .replaceAll('<table>', '<div class="table" tabindex="0"><table>')
          .replaceAll('</table>', '</table></div>'),
    },
  })
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
