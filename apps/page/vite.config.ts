import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vite'
import { reference, SITE } from './build/reference.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The development server writes styles into the page, which the page's policy refuses. */
const developWithoutPolicy: Plugin = {
  name: 'develop-without-policy',
  apply: 'serve',
  transformIndexHtml: html => html.replace(/<meta\s+http-equiv="Content-Security-Policy"[^>]*>/, ''),
}

const { API_URL = 'http://127.0.0.1:3000', SITE_URL } = process.env
const site = (SITE_URL || SITE).replace(/\/+$/, '')

export default defineConfig({
  plugins: [developWithoutPolicy, reference(ROOT, site)],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  json: { namedExports: false },
  build: { target: ['chrome123', 'firefox120', 'safari17.5'], modulePreload: false, assetsInlineLimit: 0 },
  server: { host: '127.0.0.1', proxy: { '/api/': { target: API_URL } } },
})
