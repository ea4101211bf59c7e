import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Marked } from 'marked'
import { getHeadingList, gfmHeadingId } from 'marked-gfm-heading-id'
import type { Plugin } from 'vite'

/**
 * Stands for the site's own address in the documents and in the page. A build that is given the address puts it
 * there, else the server in front puts the one that it is asked at.
 */
export const SITE = 'https://premium.example'

/** The pages made from documents: a guide has contents. */
const PAGES = [
  { file: 'reference.html', from: 'docs/callers.md', language: 'en', contents: 'Contents' },
  { file: 'reference.ko.html', from: 'docs/callers.ko.md', language: 'ko', contents: '목차' },
  { file: 'changelog.html', from: 'CHANGELOG.md', language: 'en' },
] as const

/** Where the documents' links lead on the site. */
const LINKS: Readonly<Record<string, string>> = {
  'callers.md': '/reference.html',
  'callers.ko.md': '/reference.ko.html',
  'openapi.json': '/openapi.json',
  '../CHANGELOG.md': '/changelog.html',
}

/**
 * Adds the guide for callers in both languages, the changelog and the OpenAPI document to the site, and the site's
 * address to all of them and the page: crawlers need the picture's whole address.
 * @param root the project's folder
 * @param site the address, or {@link SITE} where the build does not know it
 */
export function reference(root: string, site: string): Plugin {
  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  return {
    name: 'reference',
    apply: 'build',
    transformIndexHtml: html => html.replaceAll(SITE, site),
    generateBundle() {
      const emit = (fileName: string, source: string) => this.emitFile({ type: 'asset', fileName, source })
      const openapi = read('docs/openapi.json').replaceAll('http://127.0.0.1:3000', site)
      for (const page of PAGES) emit(page.file, render(read(page.from).replaceAll(SITE, site), page))
      emit('openapi.json', openapi)
      emit('reference.css', read('apps/page/src/style/theme.css') + read('apps/page/build/reference.css'))
    },
  }
}

/** Markdown as a page without scripts, under a policy as strict as that of the page itself. */
function render(markdown: string, page: (typeof PAGES)[number]): string {
  const { language } = page
  const contents = 'contents' in page ? page.contents : ''
  const site = language === 'ko' ? '김치 프리미엄' : 'Kimchi premium'
  const [, title] = /^# (.+)/.exec(markdown) ?? []
  const html = toHtml.parse(markdown, { async: false })
  const links = getHeadingList()
    .filter(({ level }) => level > 1)
    .map(({ id, text }) => `<li><a href="#${id}">${text}</a></li>`)
  const nav = contents ? `<nav aria-label="${contents}"><ul>${links.join('')}</ul></nav>` : ''
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · ${site}</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/reference.css">
</head>
<body>
<header><a href="/">← ${site}</a></header>
<main>
${html.replace('</h1>', `</h1>\n${nav}`)}</main>
</body>
</html>
`
}

/** Wide tables and code scroll by themselves, by keyboard too; every heading can be linked to. */
const toHtml = new Marked(gfmHeadingId(), {
  walkTokens: token => {
    if (token.type === 'link') token.href = LINKS[token.href] ?? token.href
  },
  hooks: {
    postprocess: html =>
      html
        .replaceAll('<pre>', '<pre tabindex="0">')
        .replaceAll('<table>', '<div class="table" tabindex="0"><table>')
        .replaceAll('</table>', '</table></div>'),
  },
})
