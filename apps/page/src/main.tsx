import { createClient } from '@kimchi/client'
import { render } from 'preact'
import { App } from './app.tsx'
import { recall } from './storage.ts'
import { loadWords, pickLanguage } from './text/language.ts'

/** Revalidates each answer: a cached list may lack coins of a service that has just started. */
const client = createClient({ fetch: (url, init) => fetch(url, { ...init, cache: 'no-cache' }) })
const root = document.getElementById('app')
const language = pickLanguage(recall('language') ?? null, navigator.languages)
// No top-level `await`: a module that has one can't share its parts with those that are loaded later.
void loadWords(language).then(words => {
  if (root) render(<App client={client} words={words} />, root)
})
