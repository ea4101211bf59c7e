import { createClient } from '@kimchi/client'
import { render } from 'preact'
import { App } from './app.tsx'
import { createShelf } from './storage.ts'
import { loadWords, pickLanguage } from './text/language.ts'

/** Revalidates each answer: a list that was kept for a minute may lack coins of a service that has just started. */
const client = createClient({ fetch: (url, init) => fetch(url, { ...init, cache: 'no-cache' }) })
const shelf = createShelf(() => localStorage)
const root = document.getElementById('app')
const language = pickLanguage(shelf.get('language') ?? null, navigator.languages)
// Without `await` here: a module that waits at its top can't share its parts with what is loaded later.
void loadWords(language).then(words => {
  if (root) render(<App {...{ client, shelf, words }} />, root)
})
