import { defineConfig, type Plugin } from 'vite'

/** Nothing but this site's own files and its own API; no inline script, no inline style. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** The policy is part of the page, so that it holds on any server; the development server needs inline styles. */
const contentPolicy: Plugin = {
  name: 'content-policy',
  apply: 'build',
  transformIndexHtml: () => [
    {
      tag: 'meta',
      attrs: { 'http-equiv': 'Content-Security-Policy', content: POLICY },
      injectTo: 'head-prepend',
    },
  ],
}

const { API_URL = 'http://127.0.0.1:3000' } = process.env
const proxy = { '/api/': { target: API_URL } }

export default defineConfig({
  plugins: [contentPolicy],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: { target: ['chrome123', 'firefox120', 'safari17.5'], modulePreload: false, assetsInlineLimit: 0 },
  server: { host: '127.0.0.1', proxy },
})
